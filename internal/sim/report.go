package sim

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Tale is what happened in a run, for people, and how to see it again.
func (r *Result) Tale() string {
	var b strings.Builder
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "%s: %s\n", v.Check, v.What)
	}
	for _, line := range r.Story {
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

// String returns the figures, a line each.
func (s *Summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d seeds, %.1f virtual hours, %d acquisitions, %d seeds failed", s.Seeds, s.Virtual.Hours(), s.Acquired, s.Failed)
	for _, check := range slices.Sorted(maps.Keys(s.ByCheck)) {
		fmt.Fprintf(&b, ", %s: %d", check, s.ByCheck[check])
	}
	for k, n := range s.Faults {
		fmt.Fprintf(&b, "\n%10d  %s", n, kindNames[k])
	}
	of := reflect.ValueOf(s.Counters)
	for i := range of.NumField() {
		fmt.Fprintf(&b, "\n%10d  %s", of.Field(i).Int(), counterNames[of.Type().Field(i).Name])
	}
	return b.String()
}

var counterNames = map[string]string{
	"OneTrip":    "fences that were good in one round trip",
	"WriteBack":  "fences that took a second one",
	"Uncovered":  "fences from before the tenure, which did not count",
	"Straddled":  "batches whose tail came later than the vote",
	"Late":       "requests that were executed when nobody waited for them any more",
	"Killed":     "requests that were not, as their connection was killed",
	"Extended":   "extensions",
	"Restores":   "extensions that may put back a key",
	"Changes":    "transitions of records",
	"StoodStill": "times that a client saw that its clock had stood still",
	"Stale":      "reads and writes that the resource refused",
	"Cut":        "keys that were cut, as they lived too long",
}

// Coverage returns how often that happened which is to happen.
func (s *Summary) Coverage(outOfModel bool) map[string]int {
	all := map[string]int{}
	of := reflect.ValueOf(s.Counters)
	for i := range of.NumField() {
		name := of.Type().Field(i).Name
		if name != "StoodStill" || outOfModel {
			all[counterNames[name]] = int(of.Field(i).Int())
		}
	}
	for k, n := range s.Faults {
		if kind(k) < standStill || outOfModel {
			all[kindNames[k]] = n
		}
	}
	return all
}
