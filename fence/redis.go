package fence

import _ "embed"

// Redis is a script for a resource that is a key in Redis: it executes one command on the
// key, a read or a write, if the fence is not stale. It does not depend on a client: send it
// by EVAL, or by what a client has for scripts.
//
//	KEYS[1]   the resource
//	KEYS[2]   where its greatest fence is remembered; it must not expire
//	ARGV[1]   the fence
//	ARGV[2]   the command, without its key: "get", "set", …
//	ARGV[3…]  its other arguments
//
// It returns what the command does, or an error that begins with STALEFENCE.
//
//go:embed redis.lua
var Redis string
