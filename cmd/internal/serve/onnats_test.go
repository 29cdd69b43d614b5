package serve

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/foliot-go/foliot/internal/natsserver"
)

// TestOnNATS runs tests of the API again, with timers on NATS. The store has its own tests, so these are the ones that use
// it in different ways; FOLIOT_FULL runs the others, too.
func TestOnNATS(t *testing.T) {
	tests := map[string]func(t *testing.T){
		"PutMakesAndReplaces":      TestPutMakesAndReplaces,
		"Conditions":               TestConditions,
		"BatchIsAllOrNone":         TestBatchIsAllOrNone,
		"ListPages":                TestListPages,
		"DeadTimers":               TestDeadTimers,
		"GoneEndsAPeriodicTimer":   TestGoneEndsAPeriodicTimer,
		"ListenersGetKinds":        TestListenersGetKinds,
		"LastEventIDCatchesUp":     TestLastEventIDCatchesUp,
		"SecretsAreNotLogged":      TestSecretsAreNotLogged,
		"MissedEventsAreAnnounced": TestMissedEventsAreAnnounced,
	}
	full := map[string]func(t *testing.T){
		"BadBodies":                          TestBadBodies,
		"IDs":                                TestIDs,
		"PathsAndMethodsThatDoNotExist":      TestPathsAndMethodsThatDoNotExist,
		"RequestsMatchTheDescription":        TestRequestsMatchTheDescription,
		"WebhookIsSignedAndHasThePayload":    TestWebhookIsSignedAndHasThePayload,
		"TheLargestPayloadFits":              TestTheLargestPayloadFits,
		"StatusOfWebhookDecides":             TestStatusOfWebhookDecides,
		"SlowGoneEndsAPeriodicTimer":         TestSlowGoneEndsAPeriodicTimer,
		"GoneLeavesANewSeries":               TestGoneLeavesANewSeries,
		"GoneEndsACalendar":                  TestGoneEndsACalendar,
		"DeleteDuringAnOccurrence":           TestDeleteDuringAnOccurrence,
		"CronFiresAgainAndAgain":             TestCronFiresAgainAndAgain,
		"OneBadReceiverDoesNotHoldUpOthers":  TestOneBadReceiverDoesNotHoldUpOthers,
		"SilenceOfAWebhookIsAFailure":        TestSilenceOfAWebhookIsAFailure,
		"RetryAfterIsHonoured":               TestRetryAfterIsHonoured,
		"TheEndDoesNotWaitForThoseThatWait":  TestTheEndDoesNotWaitForThoseThatWait,
		"ListenersOutliveTheLimitOfRequests": TestListenersOutliveTheLimitOfRequests,
		"ListenersGetWhatTheEndPublishes":    TestListenersGetWhatTheEndPublishes,
		"ListenersThatDoNotReadAreCutOff":    TestListenersThatDoNotReadAreCutOff,
		"TheDeepestPayload":                  TestTheDeepestPayload,
		"PagesOfLargeTimers":                 TestPagesOfLargeTimers,
		"AStreamBeginsWithItsPosition":       TestAStreamBeginsWithItsPosition,
		"APositionMovesOnWithOtherKinds":     TestAPositionMovesOnWithOtherKinds,
		"HeadOfAStream":                      TestHeadOfAStream,
		"EachIDIsReachedByItsPath":           TestEachIDIsReachedByItsPath,
		"TheClientReachesEachID":             TestTheClientReachesEachID,
		"MetricsOfARunningServer":            TestMetricsOfARunningServer,
		"BadReceiversAreLeft":                TestBadReceiversAreLeft,
		"ASnapshotHasTheTimersOfTheServer":   TestASnapshotHasTheTimersOfTheServer,
		"ProblemsSayWhatToDo":                TestProblemsSayWhatToDo,
	}
	if os.Getenv("FOLIOT_FULL") != "" {
		maps.Copy(tests, full)
	}
	for name, test := range tests {
		t.Run(name, test)
	}
}

// folderOnly are tests that start a server and would find nothing else on NATS: they are about connections
// and tokens, which come before the store.
var folderOnly = []string{
	"Crowd", "ListenersOfHTTP2", "StreamsOfHTTP10", "PathsAreTakenAsTheyAre", "WebhooksToThisMachineNeedPermissionIfOthersMayUseIt", "TokenIsNeeded",
	"PagesOfOtherSitesCannotChangeAnything", "ForeignHostsAreRefusedWithoutAToken", "TLS", "SlowRequestsAreCutOff",
	"HugeHeadersAreRefused", "HugeBodiesAreRefused", "TheDescriptionHasEachRoute", "TheDescriptionHasTheVersionOfTheServer", "TheAddressIsTheOneThatWasAskedFor",
	"ThePageHasAStrictPolicy", "ThePageIsOpenAndItsDataIsNot", "AServerThatCannotStartSaysWhy", "CheckLeavesNothingBehind",
	"MissedEventsOfAnotherProcess",
}

// Each test that starts a server is in the list of TestOnNATS, or is named as one that is about something else.
func TestOnNATSLeavesNothingOut(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]bool)
	for _, name := range folderOnly {
		listed["Test"+name] = true
	}
	var starts []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if called, ok := n.Fun.(*ast.Ident); ok && called.Name == "start" && !strings.HasPrefix(file, "cluster") {
						starts = append(starts, f.Name.Name)
					}
				case *ast.KeyValueExpr:
					if test, ok := n.Value.(*ast.Ident); ok && f.Name.Name == "TestOnNATS" {
						listed[test.Name] = true
					}
				}
				return true
			})
		}
	}
	if len(starts) < 30 {
		t.Errorf("only these tests start a server: %v", starts)
	}
	for _, name := range starts {
		if !listed[name] {
			t.Errorf("add %s to the list of TestOnNATS, or to folderOnly", name)
		}
	}
}

// sharedNATS is the server of NATS that most tests share. Each place is a stream of it.
var sharedNATS struct {
	once   sync.Once
	server *natsserver.Server
	dir    string
	err    error
}

var natsPlaces atomic.Int64

// newNATSPlace returns a stream of the server that tests share. It is removed at the end of the test.
func newNATSPlace(t testing.TB) place {
	t.Helper()
	shared := &sharedNATS
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "foliot-serve-nats-"); shared.err == nil {
			shared.server, shared.err = natsserver.Start(shared.dir, natsserver.Options{})
		}
	})
	if errors.Is(shared.err, natsserver.ErrNoModule) {
		t.Skip(shared.err)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	name := fmt.Sprintf("T%d", natsPlaces.Add(1))
	t.Cleanup(func() {
		js := connectJetStream(t, shared.server.URL())
		for _, stream := range []string{name, eventStream(name)} {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			if err := js.DeleteStream(ctx, stream); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
				t.Error(err)
			}
			cancel()
		}
	})
	return onNATS(shared.server.URL(), name)
}

// onNATS returns the place of a stream.
func onNATS(url, stream string) place {
	return func(c *Config) { c.Data, c.NATS, c.Replicas, c.stream = "", url, 1, stream }
}

// startNATS starts a server of NATS for one test.
func startNATS(t *testing.T, o natsserver.Options) *natsserver.Server {
	t.Helper()
	return natsserver.ForTest(t, 1, o)[0]
}

// connectJetStream returns a connection for requests of a test.
func connectJetStream(t testing.TB, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}
