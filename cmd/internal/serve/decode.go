package serve

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"reflect"

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
	return decodeProblem(err)
}

// decodeProblem returns the problem that an error of the decoder is. It says where the fault is and what to do.
func decodeProblem(err error) *Problem {
	where := "The body"
	semantic, wrongType := errors.AsType[*json.SemanticError](err)
	if wrongType && semantic.JSONPointer != "" {
		where = string(semantic.JSONPointer)
	}
	syntactic, wrongText := errors.AsType[*jsontext.SyntacticError](err)
	if wrongText && syntactic.JSONPointer != "" {
		where = string(syntactic.JSONPointer)
	}
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return unknownField(where)
	case errors.Is(err, jsontext.ErrDuplicateName):
		return badRequest("The field %s occurs twice; send it once.", where)
	case errors.Is(err, errNull):
		return badRequest("%s is null; send a value or leave it out.", where)
	case wrongType:
		return badRequest("%s has the wrong type: a JSON %s cannot be used there; %s.", where, kindName(semantic.JSONKind), sendInstead(where, semantic.GoType))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return badRequest("The body ends within its JSON; send all of it.")
	case wrongText:
		return badRequest("The body is not JSON in UTF-8: there is a fault at byte %d. Names and strings stand in double quotes, and there is one object.", syntactic.ByteOffset+1)
	}
	return badRequest("The body is not JSON in UTF-8.")
}

// kindName returns the name of a kind of JSON values.
func kindName(k jsontext.Kind) string {
	switch k {
	case '[':
		return "list"
	case '{':
		return "object"
	}
	return k.String()
}

// unknownField returns the problem of a field that requests do not have. Some are in responses only.
func unknownField(where string) *Problem {
	switch where {
	case "/id":
		return badRequest("There is no field /id in this body: the ID is in the path. Leave it out.")
	case "/rev":
		return badRequest(`There is no field /rev in this body: to replace this revision only, send it as the header If-Match, such as If-Match: "17". Leave it out.`)
	}
	return badRequest("There is no field %s; correct its name or leave it out.", where)
}

// examples are values of the fields that are strings, by their names.
var examples = map[string]string{
	"at": "2026-12-24T18:00:00Z", "after": "90s", "every": "1h", "cron": "0 3 * * *", "tz": "Europe/Berlin",
	"kind": "reminder", "url": "https://example.com/hook",
}

// sendInstead says what belongs at a place whose value has the wrong type.
func sendInstead(where string, want reflect.Type) string {
	for want != nil && want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	switch {
	case want == nil:
	case want.Kind() == reflect.String:
		if example := examples[path.Base(where)]; example != "" {
			return fmt.Sprintf("send a string such as %q", example)
		}
		return "send a string"
	case want.Kind() == reflect.Slice:
		return "send a list"
	}
	return "send an object"
}
