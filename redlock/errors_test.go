package redlock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/redlock"
)

func TestErrorSaysWhatHappenedOnWhichMaster(t *testing.T) {
	err := error(&redlock.Error{Op: "lock", Name: "a", Err: redlock.ErrNoQuorum, Votes: []redlock.Vote{
		{Master: "127.0.0.1:7001", Answer: quorum.Granted},
		{Master: "127.0.0.1:7002", Answer: quorum.Granted},
		{Master: "127.0.0.1:7003", Err: errors.New("dial tcp 127.0.0.1:7003: connect: connection refused")},
		{Master: "127.0.0.1:7004", Answer: quorum.Refused, Left: 3123 * time.Millisecond},
		{Master: "127.0.0.1:7005"},
	}})
	assert.EqualError(t, err, `redlock: lock "a": no quorum: 2 of 5 granted (`+
		`127.0.0.1:7003: dial tcp: connect: connection refused; `+
		`127.0.0.1:7004: held by another, 3.2s left; `+
		`127.0.0.1:7005: no answer yet)`)
	assert.ErrorIs(t, err, redlock.ErrNoQuorum)
	assert.NotErrorIs(t, err, redlock.ErrHeld)

	assert.EqualError(t, &redlock.Error{Op: "lock", Name: "", Err: errors.New("the name is empty")}, `redlock: lock: the name is empty`)
	assert.Equal(t, "m: held by another", redlock.Vote{Master: "m", Answer: quorum.Refused}.String())
	assert.Equal(t, "m: has no such key", redlock.Vote{Master: "m", Answer: quorum.Refused, Missing: true}.String())
	assert.Equal(t, "m: granted", redlock.Vote{Master: "m", Answer: quorum.Granted}.String())
}
