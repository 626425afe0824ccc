package lab

import "strings"

// expected is what is known: the literature, and why, is in docs/guarantees.md.
//
//	MX  two holders      STK  stuck      REF  refused
//	LU  lost update      BLK  blocked    UN   unavailable    -  no meaning
const expected = `
fault                none setnx expire plaindel token retry reentrant failover textbook ours fenced
contention           MX   ok    ok     ok       ok    ok    ok        ok       ok       ok   ok
client-killed        -    STK   ok     ok       ok    ok    ok        ok       ok       ok   ok
killed-in-between    -    STK   STK    -        -     -     -         -        -        -    -
stopped-then-writes  -    ok    MX     MX       LU    LU    MX        LU       LU       LU   ok
overrun              -    ok    MX     MX       LU    LU    ok        LU       LU       LU   ok
master-down          -    UN    UN     UN       UN    UN    UN        ok       ok       ok   ok
restart-empty        -    MX    MX     MX       MX    MX    MX        MX       MX       ok   ok
kill-aof             -    ok    ok     ok       ok    ok    ok        ok       ok       ok   ok
power-everysec       -    MX    MX     MX       MX    MX    MX        MX       MX       ok   ok
power-always         -    ok    ok     ok       ok    ok    ok        ok       ok       ok   ok
two-down             -    -     -      -        -     -     -         -        ok       ok   ok
three-down           -    -     -      -        -     -     -         -        UN       UN   UN
three-empty          -    -     -      -        -     -     -         -        MX       REF  REF
holder-cut-off       -    ok    MX     MX       ok    ok    MX        ok       ok       ok   ok
late-reply           -    ok    MX     MX       ok    ok    MX        ok       ok       ok   ok
late-set             -    STK   STK    BLK      BLK   BLK   BLK       BLK      BLK      ok   ok
late-release         -    MX    MX     MX       ok    MX    MX        ok       ok       ok   ok
late-extend          -    -     ok     BLK      ok    ok    ok        ok       ok       ok   ok
clock-ahead          -    ok    MX     MX       MX    MX    MX        MX       MX       ok   ok
clock-back           -    STK   BLK    BLK      BLK   BLK   BLK       BLK      ok       ok   ok
wall-clock           -    ok    ok     ok       MX    MX    ok        MX       MX       ok   ok
suspend              -    ok    MX     MX       MX    MX    MX        MX       MX       ok   ok
failover             -    -     -      -        -     -     -         MX       MX       ok   ok
flushall             -    MX    MX     MX       MX    MX    MX        MX       MX       ok   ok
eviction             -    ok    MX     MX       MX    MX    MX        MX       MX       REF  REF
one-master-twice     -    -     -      -        -     -     -         -        MX       ok   ok
other-list           -    -     -      -        -     -     -         -        MX       REF  REF
writable-replica     -    MX    MX     MX       MX    MX    MX        MX       MX       REF  REF
master-stopped       -    UN    UN     UN       UN    UN    UN        UN       ok       ok   ok
late-write           -    LU    LU     LU       LU    LU    LU        LU       LU       LU   ok
`

var codes = map[string]Verdict{
	"MX": TwoHolders, "LU": LostUpdate, "STK": Stuck, "BLK": Blocked,
	"REF": Refused, "UN": Unavailable, "ok": OK, "-": None,
}

// expectations is the table, by cell.
var expectations = func() map[ID]Verdict {
	all := map[ID]Verdict{}
	var designs []string
	for line := range strings.Lines(expected) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case designs == nil:
			designs = words[1:]
		default:
			for i, d := range designs {
				all[ID{words[0], d}] = codes[words[i+1]]
			}
		}
	}
	return all
}()
