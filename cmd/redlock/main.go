// Command redlock runs a command while it holds a distributed lock, and shows and
// frees such locks. See redlock --help.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
