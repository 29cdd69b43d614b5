package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foliot-go/foliot/client"
)

// putFlags are the flags of foliot put that need a look before they are a timer.
type putFlags struct {
	at          string
	payload     string
	payloadFile string
	url         string
	headers     []string
	ifAbsent    bool
	ifRev       uint64
}

func newPutCmd() *cobra.Command {
	var r remote
	var f putFlags
	var t client.Timer
	cmd := &cobra.Command{
		Use:   "put ID",
		Short: "Make or replace a timer of a server",
		Long: `Make or replace a timer of a server. --webhook or --kind says what receives it when it is
due, and --at, --after, --every or --cron when that is.

--at has a time such as 2026-01-31T15:04:05Z, "2026-01-31 15:04" or 2026-01-31, which is in
the time zone of this machine unless it names another one. It may also be now, or a duration
from now such as 5m.` + remoteHelp,
		Example: `  foliot put order-17 --after 30m --webhook https://shop.example/expire --payload '{"order":17}'
  foliot put report --cron '0 3 * * *' --tz Europe/Vienna --kind report
  foliot put order-17 --at 2026-01-31T15:04:05Z --kind expire --if-absent`,
		Args: namedArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			t.ID = args[0]
			if err := f.complete(cmd, &t); err != nil {
				return err
			}
			var on []client.If
			r.details = map[int]string{http.StatusPreconditionFailed: otherRev}
			if f.ifAbsent {
				on = append(on, client.IfAbsent())
				r.details[http.StatusPreconditionFailed] = "there is a timer with this ID; leave out --if-absent to replace it"
			}
			if cmd.Flags().Changed("if-rev") {
				on = append(on, client.IfRev(f.ifRev))
			}
			return r.do(func(c *client.Client) error {
				put, err := c.Put(cmd.Context(), t, on...)
				if err != nil {
					return err
				}
				return printPut(cmd.OutOrStdout(), put, r.json)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.at, "at", "", "the time at which it is due, such as 2026-01-31T15:04:05Z, now or 5m")
	flags.DurationVar(&t.After, "after", 0, "the time from now until it is due, such as 30m")
	flags.DurationVar(&t.Every, "every", 0, "the time from one occurrence to the next, such as 1h")
	flags.StringVar(&t.Cron, "cron", "", "a cron expression for its occurrences, such as '0 3 * * *'")
	flags.StringVar(&t.TZ, "tz", "", "the time zone of the cron expression, such as Europe/Vienna")
	flags.StringVar(&f.url, "webhook", "", "the address that gets a request when it is due")
	flags.StringArrayVar(&f.headers, "header", nil, "a header of that request, such as 'X-Shop: 1'; may be given several times")
	flags.StringVar(&t.Kind, "kind", "", "the kind, for those that listen")
	flags.StringVar(&f.payload, "payload", "", "the payload, which is JSON")
	flags.StringVar(&f.payloadFile, "payload-file", "", "a file with the payload; - is standard input")
	flags.BoolVar(&f.ifAbsent, "if-absent", false, "only if there is no such timer")
	flags.Uint64Var(&f.ifRev, "if-rev", 0, "only if the timer has this revision")
	cmd.MarkFlagsMutuallyExclusive("webhook", "kind")
	cmd.MarkFlagsMutuallyExclusive("header", "kind")
	cmd.MarkFlagsMutuallyExclusive("at", "after")
	cmd.MarkFlagsMutuallyExclusive("every", "cron")
	cmd.MarkFlagsMutuallyExclusive("payload", "payload-file")
	cmd.MarkFlagsMutuallyExclusive("if-absent", "if-rev")
	r.addFlags(cmd, "print a JSON object")
	return needsServer(cmd, "a folder does not say what handles its timers, and how")
}

// complete sets the fields of a timer that are not set yet.
func (f *putFlags) complete(cmd *cobra.Command, t *client.Timer) (err error) {
	flags := cmd.Flags()
	switch {
	case !flags.Changed("kind") && !flags.Changed("webhook"):
		return errors.New("foliot put needs --kind or --webhook, the receiver of the timer; for example: --kind expire")
	case !flags.Changed("at") && !flags.Changed("after") && !flags.Changed("every") && !flags.Changed("cron"):
		return errors.New("foliot put needs --at, --after, --every or --cron, the time at which the timer is due; for example: --after 30m")
	case t.After < 0:
		return fmt.Errorf("--after %v: want 0 or more", t.After)
	case flags.Changed("after") && t.After == 0:
		t.After = 1 // 0 means that there is none
	case flags.Changed("every") && t.Every <= 0:
		return fmt.Errorf("--every %v: want more than 0", t.Every)
	}
	if t.At, err = parseWhen("at", f.at, time.Now()); err != nil {
		return err
	}
	if f.url != "" {
		t.Webhook = &client.Webhook{URL: f.url, Headers: map[string]string{}}
		for _, h := range f.headers {
			name, value, ok := strings.Cut(h, ":")
			if !ok || strings.TrimSpace(name) == "" {
				return errors.New("--header: want a name, a colon and a value, such as 'X-Shop: 1'") // a value may be a secret
			}
			t.Webhook.Headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	payload := []byte(f.payload)
	switch {
	case flags.Changed("payload"):
	case f.payloadFile == "":
		return nil
	case f.payloadFile == "-":
		payload, err = io.ReadAll(cmd.InOrStdin())
	default:
		payload, err = os.ReadFile(f.payloadFile)
	}
	if err != nil {
		return runError{fmt.Errorf("the payload cannot be read: %w", err)}
	}
	if !json.Valid(payload) {
		return errors.New(`the payload is not JSON; text needs quotes that the shell does not remove, such as --payload '"text"'`)
	}
	t.Payload = payload
	return nil
}

// printPut prints the result of foliot put.
func printPut(w io.Writer, put client.Result, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(struct {
			ID      string    `json:"id"`
			Rev     uint64    `json:"rev"`
			At      time.Time `json:"at"`
			Created bool      `json:"created"`
		}{put.ID, put.Rev, put.At, put.Created})
	}
	verb := "replaced"
	if put.Created {
		verb = "made"
	}
	_, err := fmt.Fprintf(w, "%s %s, due %s (%s), revision %d\n", verb, visible(put.ID), showTime(put.At), showDue(time.Until(put.At)), put.Rev)
	return err
}
