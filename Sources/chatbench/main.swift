import Commands
import Glibc

exit(Dispatch.run(Array(CommandLine.arguments.dropFirst())))
