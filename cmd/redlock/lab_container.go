package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/quorumlock/redlock-go/internal/lab"
)

const (
	imageVar     = "REDIS_IMAGE"
	defaultImage = "redis:8" // not its Alpine kind: this program may need the usual C library
)

// inContainer has this very program stage the experiment in a container of an image that has
// redis-server, and returns what it reports.
func inContainer(ctx context.Context, c lab.Config, stderr io.Writer) (*lab.Report, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("this program runs in containers on Linux only")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	image := cmp.Or(os.Getenv(imageVar), defaultImage)
	id, err := docker(ctx, append([]string{"create", "--network", "none", image, "/redlock"}, labArgs(c)...)...)
	if err != nil {
		return nil, err
	}
	id = strings.TrimSpace(id)
	defer func() { _, _ = docker(context.WithoutCancel(ctx), "rm", "--force", "--volumes", id) }()
	if _, err := docker(ctx, "cp", self, id+":/redlock"); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "docker", "start", "--attach", id)
	cmd.Stderr = stderr
	out, err := cmd.Output() // it fails, too, if a cell is not as expected
	r := lab.NewReport(c)
	if bad := json.Unmarshal(out, r); bad != nil {
		return nil, fmt.Errorf("the container reports nothing: %w", cmp.Or(err, bad))
	}
	r.Masters += ", in a container of " + image
	return r, nil
}

// labArgs are the arguments that have redlock run an experiment, and print it for programs.
func labArgs(c lab.Config) []string {
	args := []string{"lab", "--json", fmt.Sprintf("--repeat=%d", c.Repeat), fmt.Sprintf("--seed=%d", c.Seed), fmt.Sprintf("--parallel=%d", c.Parallel)}
	for _, f := range c.Faults {
		args = append(args, "--fault="+f.ID)
	}
	for _, d := range c.Designs {
		args = append(args, "--lock="+d.ID)
	}
	return args
}

// docker runs one of its commands, and returns what it prints.
func docker(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "docker", args...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("docker %s: %s", args[0], strings.TrimSpace(string(failed.Stderr)))
	}
	return string(out), err
}
