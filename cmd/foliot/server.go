package main

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/foliot-go/foliot/client"
)

const defaultServer = "http://127.0.0.1:7357"

// remoteHelp is the end of the help of each command that needs a server.
const remoteHelp = `

The server is that of --server or FOLIOT_SERVER, and its token is in the file of --token-file
or FOLIOT_TOKEN_FILE.` + exitHelp

// otherRev is the detail of the problem that the condition of --if-rev does not hold.
const otherRev = `the timer does not have the revision of --if-rev; "foliot get" shows the timer if it is still there`

// A remote is a server that a command talks to, as its flags say.
type remote struct {
	server    string
	tokenFile string
	json      bool

	// details has the detail of a problem by its status, for a server whose detail speaks of requests instead of flags.
	details map[int]string
}

// addFlags adds the flags that all commands that talk to a server have.
func (r *remote) addFlags(cmd *cobra.Command, json string) {
	flags := cmd.Flags()
	flags.StringVar(&r.server, "server", "", "address of the server (default $FOLIOT_SERVER, or "+defaultServer+")")
	flags.StringVar(&r.tokenFile, "token-file", "", "file with the token of the server (default $FOLIOT_TOKEN_FILE)")
	flags.BoolVar(&r.json, "json", false, json)
}

// do calls f with a client of the server. Its error says what to do.
func (r *remote) do(f func(c *client.Client) error) error {
	if r.server == "" {
		r.server = os.Getenv("FOLIOT_SERVER")
	}
	if r.server == "" {
		r.server = defaultServer
	}
	if r.tokenFile == "" {
		r.tokenFile = os.Getenv("FOLIOT_TOKEN_FILE")
	}
	token, err := readToken(r.tokenFile)
	if err != nil {
		return runError{err}
	}
	c, err := client.New(r.server, client.Options{Token: token})
	if err != nil {
		return errors.New(withoutPackage(err)) // the address is wrong usage
	}
	if err := f(c); err != nil {
		return r.explain(err)
	}
	return nil
}

// readToken reads the token from a file. Without a file there is none.
func readToken(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("the token cannot be read: %w", err)
	}
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return "", fmt.Errorf("the token file %s is empty", file)
	}
	return string(text), nil
}

// explain returns an error with its exit status and with what to do about it.
func (r *remote) explain(err error) error {
	var advice string
	var unknownHost *net.DNSError
	var untrusted x509.UnknownAuthorityError
	status := 1
	switch {
	case errors.Is(err, client.ErrUncertain):
		advice = `look with "foliot get" or "foliot ls", and repeat the command if need be`
	case errors.Is(err, client.ErrUnauthorized):
		advice = "name the file with the token of the server with --token-file or FOLIOT_TOKEN_FILE"
	case errors.Is(err, client.ErrNotFound):
		status = statusNotFound
	case errors.Is(err, client.ErrConflict):
		status = statusConflict
	case errors.Is(err, syscall.ECONNREFUSED):
		return statusError{fmt.Sprintf(`there is no server at %s: start one with "foliot serve", or name another one with --server or FOLIOT_SERVER`, r.server), err, 1}
	case errors.As(err, &unknownHost):
		advice = "check the address in --server or FOLIOT_SERVER"
	case errors.As(err, &untrusted):
		advice = "name a file with the certificate of its authority in the environment variable SSL_CERT_FILE"
	}
	text := withoutPackage(err)
	var problem *client.Problem
	if errors.As(err, &problem) && r.details[problem.Status] != "" {
		own := *problem
		own.Detail = r.details[problem.Status]
		text = strings.Replace(text, problem.Error(), own.Error(), 1)
	}
	if advice != "" {
		text += "; " + advice
	}
	return statusError{text, err, status}
}

// withoutPackage returns the text of an error of package client for people who do not know the package.
func withoutPackage(err error) string { return strings.TrimPrefix(err.Error(), "client: ") }

// needsServer lets a command say why it is not for a folder at rest.
func needsServer(cmd *cobra.Command, why string) *cobra.Command {
	var data string
	addDataFlag(cmd, &data)
	_ = cmd.Flags().MarkHidden("data")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if data != "" {
			return fmt.Errorf("%s needs a server, not --data: %s", cmd.CommandPath(), why)
		}
		return run(cmd, args)
	}
	return cmd
}
