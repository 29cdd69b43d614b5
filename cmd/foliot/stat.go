package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/local"
)

func newStatCmd() *cobra.Command {
	var asJSON bool
	var dir string
	cmd := &cobra.Command{
		Use:   "stat",
		Short: "Count the timers of a folder, by kind and by time",
		Long: `Count the timers of a folder at rest, by kind and by time. It reads all timers. No process may
have the folder open meanwhile. A server has such numbers at /metrics.`,
		Example: "  foliot stat --data /var/lib/shop/timers",
		RunE: func(cmd *cobra.Command, _ []string) error {
			size, err := folderSize(dir)
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // withFolder has a better message
				return runError{err}
			}
			return withFolder(dir, false, func(s *folder) error {
				st, err := timerStatsOf(cmd.Context(), s.s, time.Now())
				if err != nil {
					return err
				}
				st.Bytes = size
				if asJSON {
					return json.NewEncoder(cmd.OutOrStdout()).Encode(st)
				}
				return st.print(cmd.OutOrStdout())
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return needsData(cmd, &dir)
}

// needsData completes a command for a folder at rest alone.
func needsData(cmd *cobra.Command, dir *string) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := namedArgs(cmd, args); err != nil {
			return err
		}
		if *dir == "" {
			return fmt.Errorf("%s needs --data, the folder that keeps the timers; for example: %s", cmd.CommandPath(), strings.TrimSpace(cmd.Example))
		}
		return nil
	}
	addDataFlag(cmd, dir)
	return cmd
}

// timerStats are the numbers of timers in a folder.
type timerStats struct {
	Pending  int `json:"pending"`
	Periodic int `json:"periodic"` // of those that are pending
	Dead     int `json:"dead"`

	// The number of pending timers that are due by a time, each without those before it.
	Overdue int `json:"overdue"`
	Hour    int `json:"due_within_hour"`
	Day     int `json:"due_within_day"`
	Later   int `json:"due_later"`

	First *time.Time           `json:"first_due,omitempty"`
	Last  *time.Time           `json:"last_due,omitempty"`
	Kinds map[string]kindStats `json:"kinds"`
	Bytes int64                `json:"bytes_on_disk"`
}

// kindStats are the numbers of timers of a kind.
type kindStats struct {
	Pending int `json:"pending"`
	Dead    int `json:"dead"`
}

// timerStatsOf counts the timers of a folder at a time.
func timerStatsOf(ctx context.Context, s *durable.Scheduler, now time.Time) (*timerStats, error) {
	st := &timerStats{Kinds: make(map[string]kindStats)}
	for t, err := range s.List(ctx, durable.Query{ByDue: true}) {
		if err != nil {
			return nil, err
		}
		st.add(t, now)
	}
	for f, err := range s.Dead(ctx) {
		if err != nil {
			return nil, err
		}
		st.Dead++
		e := deadEntry(f)
		k := st.Kinds[e.target()]
		k.Dead++
		st.Kinds[e.target()] = k
	}
	return st, nil
}

// add counts a pending timer. They come in the order of their times.
func (st *timerStats) add(t durable.Timer, now time.Time) {
	st.Pending++
	e := storedEntry(t)
	if e.again != "" {
		st.Periodic++
	}
	k := st.Kinds[e.target()]
	k.Pending++
	st.Kinds[e.target()] = k
	at := t.At.Local()
	if st.First == nil {
		st.First = &at
	}
	st.Last = &at
	switch d := at.Sub(now); {
	case d <= 0:
		st.Overdue++
	case d <= time.Hour:
		st.Hour++
	case d <= 24*time.Hour:
		st.Day++
	default:
		st.Later++
	}
}

func (st *timerStats) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(table, "pending\t%d, of these %d periodic\n", st.Pending, st.Periodic)
	fmt.Fprintf(table, "due\t%d overdue, %d within an hour, %d within a day, %d later\n", st.Overdue, st.Hour, st.Day, st.Later)
	if st.First != nil {
		fmt.Fprintf(table, "first due\t%s\n", showTime(*st.First))
		fmt.Fprintf(table, "last due\t%s\n", showTime(*st.Last))
	}
	fmt.Fprintf(table, "dead\t%d\n", st.Dead)
	fmt.Fprintf(table, "on disk\t%.1f MB\n", float64(st.Bytes)/1e6)
	if len(st.Kinds) > 0 {
		fmt.Fprintf(table, "\nKIND\tPENDING\tDEAD\n")
	}
	for _, kind := range slices.Sorted(maps.Keys(st.Kinds)) {
		fmt.Fprintf(table, "%s\t%d\t%d\n", visible(kind), st.Kinds[kind].Pending, st.Kinds[kind].Dead)
	}
	return table.Flush()
}

// folderSize returns the number of bytes in the files of a folder.
func folderSize(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, os.ErrNotExist) { // a process that uses the folder removes files
			return nil
		}
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}

func newVerifyCmd() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Read everything in a folder and check that it fits together",
		Long: `Read everything in a folder at rest, and check each timer, its payload, its place in the order of
time, and each dead timer. What is damaged is listed, and the exit status is 1. Restore such a
folder from a backup. No process may have the folder open meanwhile.`,
		Example: "  foliot verify --data /var/lib/shop/timers",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFolder(dir); err != nil {
				return runError{err}
			}
			report, err := local.Verify(dir)
			if err != nil {
				return runError{err}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d timers, %d dead timers, %d damaged\n", report.Timers, report.Dead, len(report.Damages))
			for _, damage := range report.Damages {
				fmt.Fprintln(cmd.OutOrStdout(), damage)
			}
			if len(report.Damages) > 0 {
				return exitStatus(1)
			}
			return nil
		},
	}
	return needsData(cmd, &dir)
}
