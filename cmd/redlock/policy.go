package main

import "errors"

// policy is what --on-lost says.
type policy string

const (
	terminate policy = "term" // TERM, then KILL
	kill      policy = "kill" // KILL, as late as it can be
	warn      policy = "warn" // a line on standard error
)

// Set makes a policy a flag.
func (p *policy) Set(s string) error {
	switch v := policy(s); v {
	case terminate, kill, warn:
		*p = v
		return nil
	}
	return errors.New("want term, kill or warn")
}

func (p *policy) String() string { return string(*p) }

// Type is what help calls the flag's value.
func (p *policy) Type() string { return "term|kill|warn" }
