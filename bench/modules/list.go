package main

// A module is a public module and which of its tests run.
type module struct {
	path     string   // with the version
	packages []string // patterns, if some packages are left out: they cannot be built as they are, or there are very many
}

// small and large are the modules, in the order of the table.
var small = []module{
	{path: "github.com/alitto/pond/v2@v2.5.0"},
	{path: "github.com/go-chi/chi/v5@v5.2.2"},
	{path: "github.com/google/btree@v1.1.3"},
	{path: "github.com/gorilla/websocket@v1.5.3"},
	{path: "github.com/hashicorp/golang-lru/v2@v2.0.7"},
	{path: "github.com/Jeffail/tunny@v0.1.4"},
	{path: "github.com/jackc/puddle/v2@v2.2.2"},
	{path: "github.com/panjf2000/ants/v2@v2.11.3"},
	{path: "github.com/patrickmn/go-cache@v2.1.0+incompatible"},
	{path: "github.com/prometheus/client_golang@v1.22.0", packages: []string{"./prometheus/graphite", "./prometheus/promhttp", "./prometheus/push", "./prometheus/testutil"}},
	{path: "github.com/puzpuzpuz/xsync/v4@v4.1.0"},
	{path: "github.com/rs/zerolog@v1.34.0"},
	{path: "github.com/sirupsen/logrus@v1.9.3"},
	{path: "github.com/sourcegraph/conc@v0.3.0"},
	{path: "go.uber.org/zap@v1.27.0"},
	{path: "golang.org/x/sync@v0.16.0"},
}

var large = []module{
	{path: "google.golang.org/grpc@v1.73.0", packages: []string{"./internal/...", "./balancer/...", "./health/...", "./resolver/..."}},
	{path: "go.etcd.io/raft/v3@v3.6.0"},
	{path: "github.com/valyala/fasthttp@v1.62.0"},
	{path: "go.etcd.io/bbolt@v1.4.2", packages: []string{".", "./cmd/...", "./internal/..."}},
}
