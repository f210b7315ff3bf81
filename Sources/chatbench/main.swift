import Commands
import Glibc

exit(Main.run(Array(CommandLine.arguments.dropFirst())))
