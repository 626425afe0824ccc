package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/quorumlock/redlock-go/redlock"
)

// report is what --json writes: how a run ended.
type report struct {
	Name     string  `json:"name"`
	Outcome  outcome `json:"outcome"`
	ExitCode int     `json:"exit_code"`
	Reason   string  `json:"reason,omitempty"` // the line on standard error
	// CommandCode and Signal are how the command itself ended, where it was started.
	CommandCode   *int   `json:"command_exit_code,omitempty"`
	Signal        int    `json:"signal,omitempty"`
	TokenPrefix   string `json:"token_prefix,omitempty"` // enough to find it in logs, too little to unlock
	Fence         uint64 `json:"fence,omitempty"`
	AcquiredAfter *int64 `json:"acquired_after_ms,omitempty"`
	HeldFor       *int64 `json:"held_for_ms,omitempty"`
	Votes         []vote `json:"votes,omitempty"` // of what failed

	file *os.File // nil if nobody asked
}

// vote is one master's answer.
type vote struct {
	Master string `json:"master"`
	Answer string `json:"answer"`
	LeftMS int64  `json:"left_ms,omitempty"`
	Error  string `json:"error,omitempty"`
}

// newReport opens the file before anything is done, so that a wrong path is found in
// time, and that an old report is not taken for this run's.
func newReport(path, name string) (*report, error) {
	r := &report{Name: name}
	if path == "" {
		return r, nil
	}
	how := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		how = os.O_WRONLY | os.O_APPEND // what /dev/stdout leads to is not this program's to empty
	}
	f, err := os.OpenFile(path, how, 0o666)
	if err != nil {
		return nil, usage("--json: %w", err)
	}
	r.file = f
	return r, nil
}

func (r *report) token(t string) {
	r.TokenPrefix = t[:min(8, len(t))]
}

func (r *report) votes(votes []redlock.Vote) {
	for _, v := range votes {
		said := vote{Master: v.Master, Answer: v.Answer.String(), LeftMS: v.Left.Milliseconds()}
		if v.Err != nil {
			said.Error = v.Err.Error()
		}
		r.Votes = append(r.Votes, said)
	}
}

// write writes the report of a run that ended with err, which it returns.
func (r *report) write(err error) error {
	if r.file == nil {
		return err
	}
	r.Outcome = ended
	if end, ok := errors.AsType[*exitError](err); ok {
		r.Outcome, r.ExitCode = end.outcome, end.code
		if end.err != nil {
			r.Reason = oneLine(end.err.Error())
		}
	}
	text, _ := json.MarshalIndent(r, "", "  ") // can't fail: strings and numbers
	_, failed := r.file.Write(append(text, '\n'))
	if failed = errors.Join(failed, r.file.Close()); failed != nil && err == nil {
		return &exitError{outcome: ended, err: fmt.Errorf("--json: %w", failed)}
	}
	return err
}

func milliseconds(d time.Duration) *int64 {
	ms := d.Milliseconds()
	return &ms
}
