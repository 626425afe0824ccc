// Command redlock runs a command while it holds a distributed lock, and shows and
// frees such locks. See redlock --help.
package main

import (
	"os"

	"github.com/quorumlock/redlock-go/internal/lab"
)

func main() {
	lab.Main() // the clients of the lab are processes of this program
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
