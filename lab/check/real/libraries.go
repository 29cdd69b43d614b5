package main

// A library is a module, and the packages whose tests are run.
type library struct {
	module, version string
	packages        []string // patterns, as for go test
	skip            string   // tests to skip, as for go test -skip
}

// libraries lists the libraries. These tests are skipped:
//
//   - tests that need a host on the internet, and others of the same name
//   - ExampleLRU of golang-lru: it expects 100 ticks of 100 µs within 100 ms, which takes longer on a
//     machine whose ticks are a millisecond apart
//   - TestSyslogFilter of serf: it needs a syslog daemon
//   - TestModuleTrace of fx: it needs a folder named fx
//   - TestSentPacketHandlerRandomized of quic-go: its subtests have other names in each run
var libraries = []library{
	{module: "github.com/benbjohnson/clock", version: "v1.3.5", packages: []string{"./..."}},
	{module: "github.com/cenkalti/backoff/v5", version: "v5.0.3", packages: []string{"./..."}, skip: "^ExampleRetry$"},
	{module: "github.com/coder/websocket", version: "v1.8.15", packages: []string{"./..."}},
	{module: "github.com/dgraph-io/ristretto/v2", version: "v2.4.2", packages: []string{"./..."}},
	{module: "github.com/eapache/go-resiliency", version: "v1.7.0", packages: []string{"./..."}},
	{module: "github.com/failsafe-go/failsafe-go", version: "v0.9.8", packages: []string{"./..."}, skip: "^TestCache$"},
	{module: "github.com/go-co-op/gocron/v2", version: "v2.21.2", packages: []string{"./..."}},
	{module: "github.com/gorilla/websocket", version: "v1.5.3", packages: []string{"./..."}},
	{module: "github.com/hashicorp/go-retryablehttp", version: "v0.7.8", packages: []string{"./..."}},
	{module: "github.com/hashicorp/golang-lru/v2", version: "v2.0.7", packages: []string{"./..."}, skip: "^ExampleLRU$"},
	{module: "github.com/hashicorp/memberlist", version: "v0.7.0", packages: []string{"./..."}},
	{module: "github.com/hashicorp/raft", version: "v1.8.0", packages: []string{"./..."}},
	{module: "github.com/hashicorp/serf", version: "v0.11.0", packages: []string{"./..."}, skip: "^TestSyslogFilter$"},
	{module: "github.com/hashicorp/yamux", version: "v0.1.2", packages: []string{"./..."}},
	{module: "github.com/jellydator/ttlcache/v3", version: "v3.4.1", packages: []string{"./..."}},
	{module: "github.com/libp2p/go-yamux/v5", version: "v5.1.0", packages: []string{"./..."}},
	{module: "github.com/panjf2000/ants/v2", version: "v2.12.1", packages: []string{"./..."}},
	{module: "github.com/patrickmn/go-cache", version: "v2.1.0+incompatible", packages: []string{"./..."}},
	{module: "github.com/pion/sctp", version: "v1.11.3", packages: []string{"./..."}},
	{module: "github.com/quic-go/quic-go", version: "v0.64.1", packages: []string{"./..."}, skip: "^TestSentPacketHandlerRandomized$"},
	{module: "github.com/robfig/cron/v3", version: "v3.0.1", packages: []string{"./..."}},
	{module: "github.com/sony/gobreaker/v2", version: "v2.4.0", packages: []string{"./..."}},
	{module: "github.com/valyala/fasthttp", version: "v1.70.0", packages: []string{"./..."}, skip: "^TestDialer_GetDialFunc$"},
	{module: "go.etcd.io/raft/v3", version: "v3.7.0", packages: []string{"./..."}},
	{module: "go.uber.org/fx", version: "v1.24.0", packages: []string{"./..."}, skip: "^TestModuleTrace$"},
	{module: "go.uber.org/ratelimit", version: "v0.3.1", packages: []string{"./..."}},
	{module: "golang.org/x/net", version: "v0.62.0", packages: []string{"./http2/..."}},
	{module: "golang.org/x/time", version: "v0.16.0", packages: []string{"./..."}},
	{module: "google.golang.org/grpc", version: "v1.85.0", packages: []string{".", "./backoff", "./balancer/...", "./internal/backoff", "./internal/transport/..."}},
}
