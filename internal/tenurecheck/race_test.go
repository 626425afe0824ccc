//go:build race

package tenurecheck

const raced = true
