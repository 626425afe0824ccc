package sim

import (
	"reflect"
	"sync"
	"sync/atomic"
	"time"
)

// Summary is what came of many seeds.
type Summary struct {
	Seeds    int
	Virtual  time.Duration
	Acquired int
	Failed   int
	ByCheck  map[string]int
	First    *Result // the failed one with the least seed
	Faults   [kinds]int
	Counters Counters
}

func (s *Summary) add(r *Result) {
	s.Seeds++
	s.Virtual += r.Virtual
	s.Acquired += r.Acquired
	for k, n := range r.Faults {
		s.Faults[k] += n
	}
	sum, one := reflect.ValueOf(&s.Counters).Elem(), reflect.ValueOf(r.Counters)
	for i := range sum.NumField() {
		sum.Field(i).SetInt(sum.Field(i).Int() + one.Field(i).Int())
	}
	if !r.failed() {
		return
	}
	s.Failed++
	s.ByCheck[r.Violations[0].Check]++
	if s.First == nil || r.Seed < s.First.Seed {
		s.First = r
	}
}

// merge adds what came of later seeds.
func (s *Summary) merge(o Summary) {
	s.Seeds += o.Seeds
	s.Failed += o.Failed
	for check, n := range o.ByCheck {
		s.ByCheck[check] += n
	}
	if s.First == nil {
		s.First = o.First
	}
}

// Batch runs the seeds from to from+n-1, on so many goroutines. progress, if there is one, is
// called now and then.
func Batch(c Config, from uint64, n, workers int, progress func(Summary)) Summary {
	var mu sync.Mutex // guards sum
	sum := Summary{ByCheck: map[string]int{}}
	var next atomic.Uint64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= uint64(n) {
					return
				}
				one := c
				one.Seed = from + i
				r := Run(one)
				mu.Lock()
				sum.add(&r)
				if progress != nil && sum.Seeds%1000 == 0 {
					progress(sum)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return sum
}

// Shrink returns the run of a seed that fails, without those faults that it fails without,
// and with its story.
func Shrink(c Config) Result {
	r := Run(c)
	if !r.failed() {
		return r
	}
	check := r.Violations[0].Check
	c.Without = map[int]bool{}
	for i := range r.Scheduled {
		c.Without[i] = true
		if again := Run(c); !again.failed() || again.Violations[0].Check != check {
			delete(c.Without, i)
		}
	}
	c.Tell = true
	return Run(c)
}
