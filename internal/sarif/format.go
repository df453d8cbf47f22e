package sarif

// The objects of SARIF, with the properties that are written. The specification explains them:
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html

type sarif struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []run  `json:"runs"`
}

type run struct {
	Tool       tool                        `json:"tool"`
	Bases      map[string]artifactLocation `json:"originalUriBaseIds"`
	Results    []result                    `json:"results"`
	ColumnKind string                      `json:"columnKind"`
}

type tool struct {
	Driver driver `json:"driver"`
}

type driver struct {
	Name        string `json:"name"`
	Version     string `json:"version,omitempty"`
	Information string `json:"informationUri"`
	Rules       []rule `json:"rules"`
}

type rule struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Short      message         `json:"shortDescription"`
	Full       *message        `json:"fullDescription,omitempty"`
	Help       *message        `json:"help,omitempty"`
	Default    configuration   `json:"defaultConfiguration"`
	Properties *ruleProperties `json:"properties,omitempty"`
}

type configuration struct {
	Level string `json:"level"`
}

type ruleProperties struct {
	Tags      []string `json:"tags"`
	Precision string   `json:"precision"`
}

type message struct {
	Text string `json:"text"`
}

type result struct {
	Rule         string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Kind         string            `json:"kind"`
	Message      message           `json:"message"`
	Locations    []location        `json:"locations"`
	Related      []location        `json:"relatedLocations,omitempty"`
	Stacks       []stack           `json:"stacks,omitempty"`
	Flows        []codeFlow        `json:"codeFlows,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Count        uint64            `json:"occurrenceCount"`
	Properties   properties        `json:"properties"`
}

type properties struct {
	Detector   string `json:"detector,omitempty"`
	Message    string `json:"message,omitempty"`
	Variable   string `json:"variable,omitempty"`
	Package    string `json:"package,omitempty"`
	Replay     string `json:"replay,omitempty"`
	Executions int    `json:"executions,omitempty"`
	Confirmed  int    `json:"confirmed,omitempty"`
	Harmful    bool   `json:"harmful,omitempty"`
}

type location struct {
	ID       *int              `json:"id,omitempty"`
	Physical *physicalLocation `json:"physicalLocation,omitempty"`
	Logical  []logicalLocation `json:"logicalLocations,omitempty"`
	Message  *message          `json:"message,omitempty"`
}

type physicalLocation struct {
	Artifact artifactLocation `json:"artifactLocation"`
	Region   *region          `json:"region,omitempty"`
}

type artifactLocation struct {
	URI         string   `json:"uri,omitempty"`
	Base        string   `json:"uriBaseId,omitempty"`
	Description *message `json:"description,omitempty"`
}

type region struct {
	Line    int      `json:"startLine"`
	Snippet *message `json:"snippet,omitempty"`
}

type logicalLocation struct {
	Name string `json:"name,omitempty"`
	Full string `json:"fullyQualifiedName,omitempty"`
	Kind string `json:"kind,omitempty"`
}

type stack struct {
	Message *message     `json:"message,omitempty"`
	Frames  []stackFrame `json:"frames"`
}

type stackFrame struct {
	Location location `json:"location"`
}

type codeFlow struct {
	Message *message     `json:"message,omitempty"`
	Threads []threadFlow `json:"threadFlows"`
}

type threadFlow struct {
	ID        string               `json:"id"`
	Message   *message             `json:"message,omitempty"`
	Locations []threadFlowLocation `json:"locations"`

	Properties *threadProperties `json:"properties,omitempty"`
}

// threadProperties are properties of a goroutine.
type threadProperties struct {
	Labels map[string]string `json:"labels"` // as package runtime/pprof sets them
}

type threadFlowLocation struct {
	Location   location `json:"location"`
	Kinds      []string `json:"kinds,omitempty"`
	Order      int      `json:"executionOrder,omitempty"`
	Importance string   `json:"importance"`
}
