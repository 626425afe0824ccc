// Package containers runs the masters of package redistest as Docker containers, with
// the same faults. It is a package of its own so that only tests which need Docker
// pull in testcontainers.
//
// Without Docker, or without the image, tests are skipped, and fail if the environment says CI=true.
package containers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"

	"github.com/quorumlock/redlock-go/internal/redistest"
)

// ImageEnv names the environment variable with the image that masters run, for
// machines that can't pull the default one.
const ImageEnv = "REDLOCK_TEST_IMAGE"

const defaultImage = "redis:8-alpine"

// Image returns what masters run.
func Image() string {
	if image := os.Getenv(ImageEnv); image != "" {
		return image
	}
	return defaultImage
}

// What testcontainers has to say goes to each test's own log. It would also print
// ten lines about Docker to standard error, of passing tests too.
func init() { log.SetDefault(log.NewNoopLogger()) }

// Master is one redis-server in a container of its own.
type Master struct {
	*redistest.Endpoint
	t      testing.TB
	docker client.APIClient
	id     string
	run    string // run_id of the latest process
}

// Option changes how masters are started.
type Option func(*settings)

type settings struct{ args []string }

// AOF makes masters remember their keys over a restart, as [redistest.AOF] does.
func AOF(fsync string) Option {
	return func(s *settings) {
		s.args = append(s.args, "--appendonly", "yes", "--appendfsync", fsync)
	}
}

// Start runs n independent masters, which answer when it returns. Unless options say
// otherwise they keep nothing on disk.
func Start(t testing.TB, n int, options ...Option) []*Master {
	t.Helper()
	s := settings{args: []string{"--protected-mode", "no", "--save", "", "--appendonly", "no"}}
	for _, o := range options {
		o(&s)
	}
	docker, host := connect(t)
	masters := make([]*Master, n)
	for i := range masters {
		masters[i] = start(t, docker, host, s)
	}
	return masters
}

// connect returns the Docker daemon, and the host where it publishes ports.
func connect(t testing.TB) (docker client.APIClient, host string) {
	t.Helper()
	provider, err := newProvider(t)
	if err != nil {
		redistest.Unavailable(t, fmt.Sprintf("Docker can't be reached: %v", err))
	}
	t.Cleanup(func() { _ = provider.Close() })
	host, err = provider.DaemonHost(context.Background())
	if err != nil {
		t.Fatalf("where does Docker publish ports? Set TESTCONTAINERS_HOST_OVERRIDE: %v", err)
	}
	return provider.Client(), host
}

func newProvider(t testing.TB) (provider *testcontainers.DockerProvider, err error) {
	defer func() { // testcontainers panics when it finds no daemon
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	provider, err = testcontainers.NewDockerProvider(testcontainers.WithLogger(log.TestLogger(t)))
	if err != nil {
		return nil, err
	}
	if _, err := provider.Client().Ping(context.Background(), client.PingOptions{}); err != nil {
		return nil, errors.Join(err, provider.Close())
	}
	return provider, nil
}

func start(t testing.TB, docker client.APIClient, host string, s settings) *Master {
	t.Helper()
	var err error
	// The port is chosen here, as Docker would choose another one at a restart.
	// Another process can take it before the container has it.
	for range 5 {
		port := redistest.FreePort(t)
		var c *testcontainers.DockerContainer
		c, err = run(t, s, host, port)
		testcontainers.CleanupContainer(t, c)
		if err != nil {
			needImage(t, docker, err)
			continue
		}
		m := &Master{
			Endpoint: redistest.NewEndpoint(t, net.JoinHostPort(host, port)),
			t:        t,
			docker:   docker,
			id:       c.GetContainerID(),
		}
		m.ready()
		return m
	}
	t.Fatalf("run a container of image %s: %v", Image(), err)
	return nil
}

// needImage ends the test if there is no image, which is then why no container runs.
func needImage(t testing.TB, docker client.APIClient, why error) {
	t.Helper()
	if _, missing := docker.ImageInspect(context.Background(), Image()); missing != nil {
		redistest.Unavailable(t, fmt.Sprintf("image %s is not here and can't be pulled (%s names another): %v", Image(), ImageEnv, why))
	}
}

func run(t testing.TB, s settings, host, port string) (*testcontainers.DockerContainer, error) {
	return testcontainers.Run(context.Background(), Image(),
		testcontainers.WithLogger(log.TestLogger(t)),
		testcontainers.WithCmd(append([]string{"redis-server"}, s.args...)...),
		testcontainers.WithExposedPorts("6379/tcp"),
		testcontainers.WithHostConfigModifier(func(c *container.HostConfig) {
			c.PortBindings = network.PortMap{
				network.MustParsePort("6379/tcp"): {{HostIP: publishOn(host), HostPort: port}},
			}
		}),
	)
}

// publishOn returns the address to publish a port on: loopback, unless Docker runs elsewhere.
func publishOn(host string) netip.Addr {
	addr, err := netip.ParseAddr(host)
	if host == "localhost" || (err == nil && addr.IsLoopback()) {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.IPv4Unspecified()
}
