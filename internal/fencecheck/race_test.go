//go:build race

package fencecheck_test

const raced = true
