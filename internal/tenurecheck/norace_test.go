//go:build !race

package tenurecheck

const raced = false
