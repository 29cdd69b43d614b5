package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/foliot-go/foliot/cmd/internal/serve"
)

func newServeCmd() *cobra.Command {
	var c serve.Config
	var format string
	var check bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve timers by HTTP",
		Long: `Serve timers by HTTP. Programs in any language make, change and cancel timers; a timer that is
due calls back by a signed webhook or by server-sent events. Timers are kept in a folder and
survive the process. docs/serve.md describes the requests, and so does /openapi.json.

With --nats they are kept in NATS instead. Any number of servers with the same --nats share the
work, and each of them has all timers. It needs NATS 2.12 or later with JetStream. A server that
cannot reach NATS at the start waits for it. Put a password into a file for --nats-creds, or into
FOLIOT_NATS: other users of the machine can see flags.

Without --token-file only this machine can use the server. When it is ready, it prints its
address on standard error. SIGTERM and SIGINT end it in order, a second one at once. SIGHUP
reads the files with the token, the certificate and the signing secrets again.

Each flag has an environment variable: FOLIOT_LISTEN for --listen, FOLIOT_TOKEN_FILE for
--token-file, and so on. A flag wins over its variable, and a variable that is empty counts as
not set.`,
		Example: "  foliot serve\n  foliot serve --listen :7357 --token-file token --tls-cert cert.pem --tls-key key.pem\n  foliot serve --nats nats://a:4222,nats://b:4222,nats://c:4222\n  foliot serve --check --listen :7357 --token-file token",
		Args:    namedArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := setFromEnv(cmd.Flags()); err != nil {
				return err
			}
			log, err := newLogger(cmd, format)
			if err != nil {
				return err
			}
			// The client of net/http prints what a receiver sends without being asked by package log.
			slog.SetLogLoggerLevel(slog.LevelDebug)
			slog.SetDefault(log)
			c.Logger, c.Ready, c.Version = log, cmd.ErrOrStderr(), version()
			if c.NATS != "" && !cmd.Flags().Changed("data") {
				c.Data = "" // the default
			}
			if check {
				if err := serve.Check(cmd.Context(), c); err != nil {
					return serveError(err)
				}
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "foliot: the configuration is valid")
				return err
			}
			if err := serve.Run(cmd.Context(), c); err != nil {
				return serveError(err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.Listen, "listen", "127.0.0.1:7357", "address and port; port 0 means any")
	f.StringVar(&c.Data, "data", "./foliot-data", "folder that keeps the timers")
	f.StringVar(&c.NATS, "nats", "", "addresses of servers of NATS that keep the timers instead of a folder, with commas between them")
	f.StringVar(&c.NATSCreds, "nats-creds", "", "file with the credentials for NATS")
	f.IntVar(&c.Replicas, "replicas", 3, "servers of NATS that keep each timer: 1, 3 or 5")
	f.StringVar(&c.TokenFile, "token-file", "", "file with the token that requests must have")
	f.StringVar(&c.TLSCert, "tls-cert", "", "file with the certificate, as PEM")
	f.StringVar(&c.TLSKey, "tls-key", "", "file with the key of the certificate, as PEM")
	f.StringVar(&c.SecretFile, "signing-secret-file", "", "file with the secrets that sign webhooks, whsec_… on each line")
	f.StringSliceVar(&c.WebhookAllow, "webhook-allow", nil, "network or host that is not public and may get webhooks; may be given several times")
	f.IntVar(&c.Concurrency, "concurrency", 64, "webhooks that are sent at a time")
	f.IntVar(&c.Attempts, "attempts", 16, "attempts of a webhook; -1 means any number")
	f.DurationVar(&c.RetryMin, "retry-min", time.Second, "shortest pause between two attempts")
	f.DurationVar(&c.RetryMax, "retry-max", 10*time.Minute, "longest pause between two attempts")
	f.StringVar(&format, "log-format", "text", "text or json")
	f.BoolVar(&check, "check", false, "check the configuration, and end")
	return cmd
}

// serveError returns an error of the server with its exit status: that of wrong usage if the flags are the cause.
func serveError(err error) error {
	if _, ok := errors.AsType[serve.UsageError](err); ok {
		return err
	}
	return runError{err}
}

// newLogger returns the log on standard error.
func newLogger(cmd *cobra.Command, format string) (*slog.Logger, error) {
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil)), nil
	}
	return nil, fmt.Errorf("--log-format %s: it must be text or json", format)
}

// setFromEnv sets each flag that was not given to the value of its environment variable, unless that is empty.
func setFromEnv(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		name := envName(f.Name)
		value := os.Getenv(name)
		if f.Changed || value == "" || f.Name == "help" || err != nil {
			return
		}
		if failed := flags.Set(f.Name, value); failed != nil {
			err = fmt.Errorf("%s: %w", name, failed)
		}
	})
	return err
}

// envName returns the name of the environment variable of a flag.
func envName(flag string) string {
	return "FOLIOT_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
