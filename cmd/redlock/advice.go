package main

import (
	"fmt"

	"github.com/quorumlock/redlock-go/redlock"
)

// advice returns what could be better about a master that answers.
func (c *checkup) advice(h redlock.Health) []string {
	if h.Err != nil {
		return nil
	}
	all := append([]string(nil), h.Warnings...)
	for _, a := range []string{c.persistenceAdvice(h), evictionAdvice(h), c.replicaAdvice(h)} {
		if a != "" {
			all = append(all, a)
		}
	}
	return all
}

// configTold reports whether the master let its settings be read: one of them is never
// empty.
func configTold(h redlock.Health) bool { return h.AppendFsync != "" }

// persistence says in few words what a master keeps on disk.
func persistence(h redlock.Health) string {
	fsync := h.AppendFsync
	if fsync == "" {
		fsync = "?"
	}
	switch {
	case h.AppendOnly == "":
		return "?"
	case h.AppendOnly == "yes" && h.Save != "":
		return "aof " + fsync + ", rdb"
	case h.AppendOnly == "yes":
		return "aof " + fsync
	case h.Save != "":
		return "rdb"
	case configTold(h):
		return "none"
	default:
		return "no aof"
	}
}

func (c *checkup) persistenceAdvice(h redlock.Health) string {
	const best = "best is appendonly yes, appendfsync always"
	switch {
	case h.AppendOnly == "":
		return "it does not say what it keeps on disk: " + best
	case h.Unguarded && (h.AppendOnly != "yes" || configTold(h) && h.AppendFsync != "always"):
		return "unguarded, and a crash loses locks: set appendonly yes, appendfsync always"
	case h.AppendOnly == "yes":
		return "" // how often it is forced to disk makes no difference to who votes
	case h.Save != "":
		return "no AOF: after a restart it is as its last snapshot was. " + c.ifMost() + best
	case !configTold(h):
		return "no AOF: after a restart it is empty, or as its last snapshot was. " + c.ifMost() + best
	default:
		return "no AOF: after a restart it is empty. " + c.ifMost() + best
	}
}

// ifMost says what losing memory costs.
func (c *checkup) ifMost() string {
	return fmt.Sprintf("One alone then waits %v as ever, but most of them at once may need redlock init; ", timeToVote(c.maxTTL))
}

// eviction says in few words what a master does when its memory is full.
func eviction(h redlock.Health) string {
	switch {
	case h.Eviction == "":
		return "?"
	case h.MaxMemory == "0" && h.Eviction != "noeviction":
		return h.Eviction + ", no limit"
	default:
		return h.Eviction
	}
}

func evictionAdvice(h redlock.Health) string {
	switch h.Eviction {
	case "noeviction":
		return ""
	case "":
		return "it does not say what it does when its memory is full: it must be maxmemory-policy noeviction"
	default:
		return fmt.Sprintf("maxmemory-policy is %s: with a memory limit it would evict locks, and may not vote then; set noeviction", h.Eviction)
	}
}

func (c *checkup) replicaAdvice(h redlock.Health) string {
	if h.Replicas == 0 {
		return ""
	}
	return fmt.Sprintf("replicas attached: %d. Attaching the first, or promoting one in its place, makes it wait %v: do that to one master at a time",
		h.Replicas, timeToVote(c.maxTTL))
}
