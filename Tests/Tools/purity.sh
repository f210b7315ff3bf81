#!/usr/bin/env bash
# Cores, scenarios, twins, faults, oracles, replay and reporting reach no clock, randomness, environment, file or socket;
# names of client systems stay in Systems, Catalog and their tests.
set -uo pipefail
cd "$(dirname "$0")/../.."
bad=0
complain() { echo "purity: $1" >&2; echo "$2" >&2; bad=1; }

pure=(Sources/Simulation Sources/Wire Sources/Contract Sources/Faults Sources/Oracles Sources/Replay Sources/Reporting Sources/Systems)
[ -d Sources/ClientKit ] && pure+=(Sources/ClientKit)
found=$(grep -rnE '^\s*(package |public |internal |@preconcurrency |@testable )*import +(Foundation|FoundationEssentials|FoundationNetworking|Glibc|Musl|Darwin|Dispatch|CEvent|CSQLite|CArchive)\b' "${pure[@]}" --include='*.swift')
[ -n "$found" ] && complain "an import that reaches outside" "$found"
found=$(grep -rnE '\b(Date\(|UUID\(|DispatchTime|ContinuousClock|SuspendingClock|SystemRandomNumberGenerator|Task\.sleep|ProcessInfo|CommandLine\.|getenv|fopen|FileManager|Hasher\(\)|\.hashValue)|\.(random\(in|shuffled\(\)|randomElement\(\))' "${pure[@]}" --include='*.swift')
[ -n "$found" ] && complain "a clock, randomness, environment, file or hash" "$found"
found=$(grep -rnE '^\s*import +Foundation\b' Sources --include='*.swift')
[ -n "$found" ] && complain "Foundation doubles the start-up: FoundationEssentials, or nothing" "$found"
found=$(grep -rniE 'hbcode|simplex|zimmer|streamai|hapi' Sources --include='*.swift' | grep -vE '^Sources/(Systems|Catalog)/')
[ -n "$found" ] && complain "a client system named outside Systems and Catalog" "$found"
found=$(grep -rnE '\bScreenRecord *(\.init *)?\(' Sources --include='*.swift' | grep -v '^Sources/ClientKit/Viewport/')
[ -n "$found" ] && complain "a record of the screen made elsewhere than in the shared viewport" "$found"
if grep -rnE '^\s*import +\w+(Scenario|Twin|System)\b' Sources/Systems/*/Core --include='*.swift'; then
  complain "a core that sees its server" "above"
fi
[ $bad -eq 0 ] && echo "purity: clean"
exit $bad
