package tenure

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Fields are the fields of a record in the hash that a master keeps it in, in the order
// of [Record.Values] and of [Parse].
var Fields = []string{
	"group", "n", "maxttl", "tolerance", "seat", "term", "identity", "nonce",
	"pledge", "since", "skew", "high", "floor", "terms",
}

// Values returns the record as a master stores it. Durations are in microseconds. The
// nonce is "process/nonce"; terms are "no address process/nonce since" for each seat,
// with commas between them. The term is there for people: it is also among the terms.
func (r Record) Values() []string {
	term := uint64(0)
	if r.whole() {
		term = r.Term()
	}
	terms := make([]string, len(r.Terms))
	for i, t := range r.Terms {
		terms[i] = fmt.Sprintf("%d %s %s %d", t.No, t.Address, t.Waiter, t.Since)
	}
	return []string{
		r.Group, strconv.Itoa(r.N), micros(r.MaxTTL), micros(r.Tolerance), strconv.Itoa(r.Seat),
		strconv.FormatUint(term, 10), r.Identity, r.Prepared.String(),
		r.Pledge, strconv.FormatInt(int64(r.Since), 10), micros(r.Skew),
		strconv.FormatUint(r.High, 10), strconv.FormatUint(r.Floor, 10), strings.Join(terms, ","),
	}
}

// Parse returns the record that the values of [Fields] make. A field that the master
// does not have is an empty string. What no master of ours would write is an empty
// record: such a master has forgotten.
func Parse(values []string) Record {
	r, err := parse(values)
	if err != nil {
		return Record{}
	}
	return r
}

func parse(values []string) (r Record, err error) {
	if len(values) != len(Fields) {
		return Record{}, fmt.Errorf("%d fields, not %d", len(values), len(Fields))
	}
	number := func(field int) int64 {
		if values[field] == "" {
			return 0
		}
		n, e := strconv.ParseInt(values[field], 10, 64)
		if e != nil {
			err = e
		}
		return n
	}
	duration := func(field int) time.Duration { return time.Duration(number(field)) * time.Microsecond }
	r = Record{
		Charter:  Charter{Group: values[0], N: int(number(1)), MaxTTL: duration(2), Tolerance: duration(3)},
		Seat:     int(number(4)),
		Identity: values[6],
		Prepared: parsePreparation(values[7]),
		Pledge:   values[8],
		Since:    Time(number(9)),
		Skew:     duration(10),
		High:     uint64(number(11)),
		Floor:    uint64(number(12)),
	}
	if values[13] == "" {
		return r, err
	}
	for _, s := range strings.Split(values[13], ",") {
		var waiter string
		var t Term
		parts := strings.Split(s, " ")
		if len(parts) != 4 {
			return Record{}, fmt.Errorf("term %q", s)
		}
		t.Address, waiter = parts[1], parts[2]
		no, e1 := strconv.ParseUint(parts[0], 10, 64)
		since, e2 := strconv.ParseInt(parts[3], 10, 64)
		if e1 != nil || e2 != nil {
			return Record{}, fmt.Errorf("term %q", s)
		}
		t.No, t.Waiter, t.Since = no, parsePreparation(waiter), Time(since)
		r.Terms = append(r.Terms, t)
	}
	return r, err
}

// String returns "process/nonce", or "" for none.
func (p Preparation) String() string {
	if p.Nonce == "" {
		return ""
	}
	return p.Process + "/" + p.Nonce
}

func parsePreparation(s string) Preparation {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return Preparation{}
	}
	return Preparation{Process: s[:i], Nonce: s[i+1:]}
}

func micros(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }
