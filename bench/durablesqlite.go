package bench

import (
	"database/sql"
	"errors"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// A sqliteStore is a table with an index by deadline and a goroutine that polls it, as job queues on databases do.
type sqliteStore struct {
	db                            *sql.DB
	poll                          time.Duration
	insert, remove, claim, finish *sql.Stmt
	payload                       []byte
}

func openSQLite(dir string, poll time.Duration) (durableStore, error) {
	file := filepath.ToSlash(filepath.Join(dir, "timers.db"))
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // SQLite has one writer at a time, and others would only wait for its lock
	s := &sqliteStore{db: db, poll: poll, payload: make([]byte, orderPayload)}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

func (s *sqliteStore) prepare() error {
	if _, err := s.db.Exec(`
		CREATE TABLE IF NOT EXISTS timers (id TEXT PRIMARY KEY, due INTEGER NOT NULL, kind TEXT NOT NULL, payload BLOB, claimed INTEGER NOT NULL DEFAULT 0);
		CREATE INDEX IF NOT EXISTS timers_due ON timers (claimed, due)`); err != nil {
		return err
	}
	for _, p := range []struct {
		to    **sql.Stmt
		query string
	}{
		{&s.insert, `INSERT OR REPLACE INTO timers (id, due, kind, payload) VALUES (?, ?, '` + orderKind + `', ?)`},
		{&s.remove, `DELETE FROM timers WHERE id = ? AND claimed = 0`},
		{&s.claim, `UPDATE timers SET claimed = 1 WHERE id IN (SELECT id FROM timers WHERE claimed = 0 AND due <= ? ORDER BY due LIMIT 1000) RETURNING due, payload`},
		{&s.finish, `DELETE FROM timers WHERE claimed = 1`},
	} {
		stmt, err := s.db.Prepare(p.query)
		if err != nil {
			return err
		}
		*p.to = stmt
	}
	return nil
}

func (s *sqliteStore) schedule(id string, at time.Time) error {
	_, err := s.insert.Exec(id, at.UnixNano(), s.payload)
	return err
}

func (s *sqliteStore) fill(from, to int, at func(i int) time.Time) error {
	for ; from < to; from += 10 * fillBatch {
		tx, err := s.db.Begin()
		if err != nil {
			return err
		}
		insert := tx.Stmt(s.insert)
		for i := from; i < min(from+10*fillBatch, to); i++ {
			if _, err := insert.Exec(orderID(i), at(i).UnixNano(), s.payload); err != nil {
				return errors.Join(err, tx.Rollback())
			}
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}

func (s *sqliteStore) cancel(id string) error {
	r, err := s.remove.Exec(id)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, errNoTimer)
	}
	return nil
}

func (s *sqliteStore) run(fired func(at time.Time)) (func() error, error) {
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		tick := time.NewTicker(s.poll)
		defer tick.Stop()
		for {
			if err := s.fireDue(fired); err != nil {
				ended <- err
				return
			}
			select {
			case <-stop:
				ended <- nil
				return
			case <-tick.C:
			}
		}
	}()
	return func() error {
		close(stop)
		return <-ended
	}, nil
}

// fireDue claims the timers that are due, a thousand at a time, calls fired for them and removes them.
func (s *sqliteStore) fireDue(fired func(at time.Time)) error {
	for {
		rows, err := s.claim.Query(time.Now().UnixNano())
		if err != nil {
			return err
		}
		var due []int64
		for rows.Next() {
			var at int64
			var payload sql.RawBytes
			if err := rows.Scan(&at, &payload); err != nil {
				return errors.Join(err, rows.Close())
			}
			due = append(due, at)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(due) == 0 {
			return err
		}
		for _, at := range due {
			fired(time.Unix(0, at))
		}
		if _, err := s.finish.Exec(); err != nil {
			return err
		}
	}
}

func (s *sqliteStore) close() error { return s.db.Close() }
