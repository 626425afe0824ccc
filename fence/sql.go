package fence

import (
	"context"
	"database/sql"
	"fmt"
)

// SQL remembers the greatest fence of a resource in a row of the table
//
//	CREATE TABLE fences (resource TEXT PRIMARY KEY, fence BIGINT NOT NULL)
//
// It changes one row if the fence is admitted, and none if it is stale. It is the first
// statement of every transaction that reads or writes the resource on behalf of a holder: the
// row stays locked until the transaction ends, so that nobody with another fence comes
// between. It works as it stands with PostgreSQL and SQLite.
const SQL = `INSERT INTO fences (resource, fence) VALUES ($1, $2)
ON CONFLICT (resource) DO UPDATE SET fence = excluded.fence WHERE fences.fence <= excluded.fence`

// Execer is a *sql.Tx, or what stands for one.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// AdmitSQL executes [SQL] in a transaction. If its error is [ErrStale], roll back.
func AdmitSQL(ctx context.Context, tx Execer, resource string, fence uint64) error {
	if fence == 0 {
		return errNone
	}
	result, err := tx.ExecContext(ctx, SQL, resource, int64(fence)) // a fence is less than 2^53
	if err != nil {
		return fmt.Errorf("fence of %q: %w", resource, err)
	}
	rows, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("fence of %q: %w", resource, err)
	}
	if rows == 0 {
		return fmt.Errorf("%w: %d of %q, when a greater one came before", ErrStale, fence, resource)
	}
	return nil
}
