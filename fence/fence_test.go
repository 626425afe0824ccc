package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/quorumlock/redlock-go/fence"
	"github.com/quorumlock/redlock-go/internal/redistest"
)

// document is a resource that holders of a lock read and write.
type document interface {
	Read(fence uint64) (string, error)
	Write(fence uint64, text string) error
}

// What every resource must do, wherever it lives.
func testDocument(t *testing.T, d document) {
	t.Helper()
	require.NoError(t, d.Write(10, "by 10"))
	require.NoError(t, d.Write(10, "by 10 again"), "a holder may come as often as it likes")
	require.NoError(t, d.Write(12, "by 12"))
	require.ErrorIs(t, d.Write(11, "too late"), fence.ErrStale)
	require.ErrorIs(t, d.Write(0, "without"), fence.ErrStale)
	_, err := d.Read(11)
	require.ErrorIs(t, err, fence.ErrStale)
	text, err := d.Read(12)
	require.NoError(t, err)
	assert.Equal(t, "by 12", text)

	// The first read counts: else the old holder could write between the new one's read
	// and its write, which would be lost.
	text, err = d.Read(20)
	require.NoError(t, err)
	require.ErrorIs(t, d.Write(12, "lost"), fence.ErrStale)
	require.NoError(t, d.Write(20, text+", and 20"))
	text, err = d.Read(20)
	require.NoError(t, err)
	assert.Equal(t, "by 12, and 20", text)

	const large = 1<<53 - 1
	require.NoError(t, d.Write(large-1, "x"))
	require.NoError(t, d.Write(large, "y"))
	require.ErrorIs(t, d.Write(large-1, "z"), fence.ErrStale, "every digit counts")
}

// inMemory is a document in this process.
type inMemory struct {
	guard fence.Guard
	text  string
}

func (d *inMemory) Read(fence uint64) (text string, err error) {
	return text, d.guard.Do(fence, func() error { text = d.text; return nil })
}

func (d *inMemory) Write(fence uint64, text string) error {
	return d.guard.Do(fence, func() error { d.text = text; return nil })
}

func TestGuard(t *testing.T) { testDocument(t, &inMemory{}) }

func TestGuard_LetsOneInAtATime(t *testing.T) {
	var g fence.Guard
	var last uint64
	var all sync.WaitGroup
	for n := range uint64(100) {
		all.Go(func() {
			err := g.Do(n+1, func() error {
				assert.LessOrEqual(t, last, n+1)
				last = n + 1
				return nil
			})
			assert.True(t, err == nil || errors.Is(err, fence.ErrStale))
		})
	}
	all.Wait()
	assert.EqualValues(t, 100, last)
	assert.NoError(t, g.Admit(100))
	assert.ErrorIs(t, g.Admit(99), fence.ErrStale)
}

// inSQL is a document in a database.
type inSQL struct{ db *sql.DB }

func openSQL(t *testing.T) inSQL {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "db")+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	for _, statement := range []string{
		"CREATE TABLE fences (resource TEXT PRIMARY KEY, fence BIGINT NOT NULL)",
		"CREATE TABLE documents (name TEXT PRIMARY KEY, text TEXT NOT NULL)",
		"INSERT INTO documents VALUES ('doc', '')",
	} {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	return inSQL{db}
}

func (d inSQL) Read(no uint64) (text string, err error) {
	return text, d.transact(no, func(tx *sql.Tx) error {
		return tx.QueryRow("SELECT text FROM documents WHERE name = 'doc'").Scan(&text)
	})
}

func (d inSQL) Write(no uint64, text string) error {
	return d.transact(no, func(tx *sql.Tx) error {
		_, err := tx.Exec("UPDATE documents SET text = $1 WHERE name = 'doc'", text)
		return err
	})
}

func (d inSQL) transact(no uint64, f func(tx *sql.Tx) error) error {
	ctx := context.Background()
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if err := fence.AdmitSQL(ctx, tx, "doc", no); err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func TestSQL(t *testing.T) { testDocument(t, openSQL(t)) }

func TestSQL_OfManyAtOnce(t *testing.T) {
	d := openSQL(t)
	var all sync.WaitGroup
	for n := range uint64(20) {
		all.Go(func() {
			err := d.Write(n+1, fmt.Sprint(n+1))
			assert.True(t, err == nil || errors.Is(err, fence.ErrStale), "%v", err)
		})
	}
	all.Wait()
	text, err := d.Read(20)
	require.NoError(t, err)
	assert.Equal(t, "20", text)
}

// inRedis is a document in Redis.
type inRedis struct{ redis *redis.Client }

var script = redis.NewScript(fence.Redis)

func (d inRedis) run(no uint64, command ...any) *redis.Cmd {
	return script.Run(context.Background(), d.redis, []string{"doc", "doc:fence"}, append([]any{no}, command...)...)
}

func (d inRedis) Read(no uint64) (string, error) {
	text, err := d.run(no, "get").Text()
	return text, stale(err)
}

func (d inRedis) Write(no uint64, text string) error { return stale(d.run(no, "set", text).Err()) }

func stale(err error) error {
	if err != nil && redis.HasErrorPrefix(err, "STALEFENCE") {
		return fmt.Errorf("%w: %w", fence.ErrStale, err)
	}
	return err
}

func TestRedis(t *testing.T) {
	d := inRedis{redistest.Start(t, 1)[0].Client()}
	testDocument(t, d)
	// What is no number must not get in, and be remembered as the greatest.
	for _, no := range []string{"nan", "inf", "x", ""} {
		err := script.Run(t.Context(), d.redis, []string{"other", "other:fence"}, no, "set", "x").Err()
		require.ErrorContains(t, err, "STALEFENCE", no)
	}
}

func ExampleGuard() {
	var document fence.Guard
	fmt.Println(document.Admit(33)) // the first holder, which is then paused
	fmt.Println(document.Admit(34)) // the next holder
	fmt.Println(document.Admit(33)) // the first one goes on
	// Output:
	// <nil>
	// <nil>
	// fence is stale: 33, when 34 came before
}

func ExampleAdmitSQL() {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1) // each connection to :memory: is a database of its own
	ctx := context.Background()
	if _, err := db.ExecContext(ctx, "CREATE TABLE fences (resource TEXT PRIMARY KEY, fence BIGINT NOT NULL)"); err != nil {
		panic(err)
	}
	write := func(no uint64) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		if err := fence.AdmitSQL(ctx, tx, "report", no); err != nil {
			return err
		}
		// … read and write the report, in the same transaction
		return tx.Commit()
	}
	fmt.Println(write(33))
	fmt.Println(write(34))
	fmt.Println(errors.Is(write(33), fence.ErrStale))
	// Output:
	// <nil>
	// <nil>
	// true
}
