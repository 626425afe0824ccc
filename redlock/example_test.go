package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumlock/redlock-go/internal/embedded"
	"github.com/quorumlock/redlock-go/redlock"
)

// demo returns a client of five masters that live in this process. Yours are
// independent Redis masters: Masters: []string{"10.0.0.1:6379", …}.
func demo() (*redlock.Client, func()) {
	masters, err := embedded.Start(5)
	if err != nil {
		panic(err)
	}
	locks, err := redlock.New(redlock.Options{Masters: masters.Addrs(), Unguarded: true})
	if err != nil {
		panic(err)
	}
	return locks, func() {
		_ = locks.Close()
		masters.Close()
	}
}

func Example() {
	locks, end := demo()
	defer end()
	ctx := context.Background()

	lease, err := locks.Lock(ctx, "nightly-report", 10*time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = lease.Release(ctx) }()
	if lease.Valid() {
		fmt.Println("nobody else builds the report now")
	}
	// Output: nobody else builds the report now
}

func ExampleClient_Do() {
	locks, end := demo()
	defer end()

	err := locks.Do(context.Background(), "nightly-report", 10*time.Second, func(ctx context.Context) error {
		fmt.Println("building") // ctx ends if the lock is lost
		return ctx.Err()
	})
	fmt.Println(err)
	// Output:
	// building
	// <nil>
}

func ExampleClient_TryLock() {
	locks, end := demo()
	defer end()
	ctx := context.Background()

	lease, err := locks.TryLock(ctx, "nightly-report", 10*time.Second)
	fmt.Println(lease.Name(), err)

	_, err = locks.TryLock(ctx, "nightly-report", 10*time.Second)
	switch {
	case errors.Is(err, redlock.ErrHeld):
		fmt.Println("somebody is at it: skip it this time")
	case errors.Is(err, redlock.ErrNoQuorum):
		fmt.Println("the masters are away: page somebody")
	}
	// Output:
	// nightly-report <nil>
	// somebody is at it: skip it this time
}

func ExampleClient_LockAll() {
	locks, end := demo()
	defer end()
	ctx := context.Background()

	both, err := locks.LockAll(ctx, 10*time.Second, "account-2", "account-1")
	fmt.Println(both.Name(), err)
	fmt.Println(both.Release(ctx))
	// Output:
	// account-1,account-2 <nil>
	// <nil>
}

func ExampleLease_Extend() {
	locks, end := demo()
	defer end()
	ctx := context.Background()

	lease, err := locks.Lock(ctx, "import", time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = lease.Release(ctx) }()
	for _, part := range []string{"first half", "second half"} {
		if err := lease.Extend(ctx); err != nil { // a full ttl from now, or stop
			fmt.Println(err)
			return
		}
		fmt.Println(part)
	}
	// Output:
	// first half
	// second half
}

func ExampleFromContext() {
	locks, end := demo()
	defer end()

	step := func(ctx context.Context) {
		lease, ok := redlock.FromContext(ctx)
		fmt.Println(ok && lease.Valid())
	}
	_ = locks.Do(context.Background(), "import", time.Second, func(ctx context.Context) error {
		step(ctx)
		return nil
	})
	step(context.Background())
	// Output:
	// true
	// false
}
