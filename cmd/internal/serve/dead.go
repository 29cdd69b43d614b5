package serve

import (
	"errors"
	"net/http"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// A DeadList is the response to GET /v1/dead.
type DeadList struct {
	Dead []Dead `json:"dead"`
	Next string `json:"next,omitzero" doc:"The cursor of the next page; there is none after the last one."`
}

// A Dead is a timer that gave up.
type Dead struct {
	ID       string    `json:"id"`
	Rev      uint64    `json:"rev"`
	Key      string    `json:"key" doc:"Names the occurrence: webhook-id."`
	Attempts int       `json:"attempts"`
	Error    string    `json:"error" doc:"Why the last attempt failed."`
	At       time.Time `json:"at" doc:"The time at which the timer was due."`
}

// A Redriven is the response to POST /v1/dead/{id}/redrive.
type Redriven struct {
	Redriven bool `json:"redriven"`
}

// A Discarded is the response to DELETE /v1/dead/{id}.
type Discarded struct {
	Discarded bool `json:"discarded"`
}

func (s *server) listDead(w http.ResponseWriter, r *http.Request) error {
	v, err := parseQuery(r, "limit", "cursor")
	if err != nil {
		return err
	}
	limit, err := parseLimit(v.Get("limit"))
	if err != nil {
		return err
	}
	var after *cursor
	if text := v.Get("cursor"); text != "" {
		if after, err = decodeCursor(text); err != nil {
			return err
		}
	}
	list := DeadList{Dead: []Dead{}}
	for f, err := range s.scheduler().Dead(r.Context()) {
		if err != nil {
			return err
		}
		if after != nil && f.ID <= after.ID {
			continue
		}
		if len(list.Dead) == limit {
			c := cursor{ID: list.Dead[limit-1].ID}
			list.Next = c.encode()
			break
		}
		list.Dead = append(list.Dead, Dead{
			ID: f.ID, Rev: f.Rev, Key: f.Key(), Attempts: f.Attempt, Error: f.Error, At: f.At.UTC(),
		})
	}
	return writeJSON(w, http.StatusOK, list)
}

var errNotDead = problem(http.StatusNotFound, "There is no dead timer with this ID: it was redriven or discarded, or never gave up.")

func (s *server) redriveDead(w http.ResponseWriter, r *http.Request) error {
	ok, err := s.scheduler().Redrive(r.Context(), r.PathValue("id"))
	switch {
	case errors.Is(err, durable.ErrExists):
		return problem(http.StatusConflict, "There is a timer with this ID. Cancel it first, or make one with another ID and discard the dead one.")
	case err != nil:
		return err
	case !ok:
		return errNotDead
	}
	return writeJSON(w, http.StatusOK, Redriven{true})
}

func (s *server) discardDead(w http.ResponseWriter, r *http.Request) error {
	ok, err := s.scheduler().Discard(r.Context(), r.PathValue("id"))
	switch {
	case err != nil:
		return err
	case !ok:
		return errNotDead
	}
	return writeJSON(w, http.StatusOK, Discarded{true})
}
