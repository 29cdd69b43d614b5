package serve

import (
	"errors"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxBody is the largest size of the body of a request: 1 MiB.
const maxBody = 1 << 20

// maxDiscard is how much of a body that is too large is read and thrown away: 16 MiB. Many clients send all of
// a body before they look at the response, which they lose if the connection is closed meanwhile.
const maxDiscard = 16 << 20

// decodeBody reads the body of a request into v. Unknown fields, duplicate ones, nulls, wrong types and anything
// after the value are errors. An error is a Problem.
func decodeBody(r *http.Request, v any) error {
	if r.ContentLength > maxBody && r.Header.Get("Expect") != "" {
		return errBodyTooLarge // the client waits, and does not send it
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return badRequest("The body cannot be read to its end. Send it within a minute.")
	case len(body) > maxBody:
		_, _ = io.CopyN(io.Discard, r.Body, maxDiscard)
		return errBodyTooLarge
	}
	return decode(body, v)
}

var errBodyTooLarge = problem(http.StatusRequestEntityTooLarge, "The body is too large; at most %d bytes are allowed.", maxBody).with("Connection", "close")

// errNull says that there is a null where a value of another type belongs. Only a payload may be null.
var errNull = errors.New("null")

// noNulls refuses nulls, which would otherwise be taken for fields that are left out.
var noNulls = json.WithUnmarshalers(json.JoinUnmarshalers(
	notNull[string](), notNull[*Webhook](), notNull[map[string]string](), notNull[[]NamedSpec](), notNull[Spec](), notNull[NamedSpec](),
))

func notNull[T any]() *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(in *jsontext.Decoder, _ *T) error {
		if in.PeekKind() == 'n' {
			return errNull
		}
		return errors.ErrUnsupported // the default decodes it
	})
}

// decode decodes JSON strictly.
func decode(body []byte, v any) error {
	if len(body) == 0 {
		return badRequest("There is no body; send a JSON object.")
	}
	err := json.Unmarshal(body, v, json.RejectUnknownMembers(true), noNulls)
	if err == nil {
		return nil
	}
	where := "the body"
	if s, ok := errors.AsType[*json.SemanticError](err); ok && s.JSONPointer != "" {
		where = string(s.JSONPointer)
	}
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok && s.JSONPointer != "" {
		where = string(s.JSONPointer)
	}
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return badRequest("There is no field %s; correct its name or leave it out.", where)
	case errors.Is(err, jsontext.ErrDuplicateName):
		return badRequest("The field %s occurs twice; send it once.", where)
	case errors.Is(err, errNull):
		return badRequest("%s is null; send a value or leave it out.", where)
	}
	if s, ok := errors.AsType[*json.SemanticError](err); ok {
		return badRequest("%s has the wrong type: a JSON %s cannot be used there.", where, s.JSONKind)
	}
	return badRequest("The body is not JSON in UTF-8: there is a fault at %s.", where)
}
