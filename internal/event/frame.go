package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Topics that a stream can select: the subject kinds of events, and the topics of live updates
// (State).
const (
	TopicTask     = "task"
	TopicProject  = "project"
	TopicStandup  = "standup"
	TopicTeam     = "team"
	TopicSchedule = "schedule"
	TopicInbox    = "inbox" // requires the permission use_inbox
	TopicUser     = "user"  // the whole audit log; requires the permission read_audit
	TopicGateway  = "gateway"
	TopicUsage    = "usage"   // growth of the usage ledger
	TopicAgent    = "agent"   // holds of agents
	TopicSession  = "session" // the runtime's sessions and the connection to the gateway
)

// State is a live update about something that is not stored, such as the status
// of a connection. On a stream it has no ID, so a resumed stream does not
// repeat it.
type State struct {
	Kind   string // such as agentrt.status
	Topics []string
	Data   any // encoded as a JSON object
	// Session, if not empty, is the key of the runtime session that the state
	// belongs to. Only streams that selected this session receive it.
	Session string
}

// frame is one encoded event or state, shared by all streams. It is immutable.
type frame struct {
	id     int64    // 0 for a state
	class  Class    // empty for a state
	topics []string // one for an event
	about  string   // ID of the subject
	only   string   // key of the session that a stream must have selected; empty means all streams
	text   []byte
}

// isAboutTask reports whether the event is activity about a task.
func (e Event) isAboutTask() bool { return e.Class == Activity && e.Subject.Kind == TopicTask }

// frameOf encodes an event, with the task that it is about if that is given.
func frameOf(e Event, task json.RawMessage) (frame, error) {
	text, err := encode(e.ID, e.Kind, struct {
		Event
		Task json.RawMessage `json:"task,omitempty"`
	}{e, task})
	topic := e.Subject.Kind
	if e.Class == Audit {
		topic = TopicUser // a deletion is also recorded as activity, under its own topic
	}
	return frame{id: e.ID, class: e.Class, topics: []string{topic}, about: e.Subject.ID, text: text}, err
}

func (s State) frame() (frame, error) {
	text, err := encode(0, s.Kind, s.Data)
	return frame{topics: s.Topics, only: s.Session, text: text}, err
}

// positionFrame encodes a frame that confirms to the client that it has received all events up to
// id.
func positionFrame(kind string, id int64) []byte {
	return fmt.Appendf(nil, "id: %d\nevent: %s\ndata: {\"id\":%d}\n\n", id, kind, id)
}

// encode writes a server-sent event with data as one line of JSON. It omits the ID if id is zero.
func encode(id int64, kind string, data any) ([]byte, error) {
	var b bytes.Buffer
	if id > 0 {
		b.WriteString("id: ")
		b.WriteString(strconv.FormatInt(id, 10))
		b.WriteByte('\n')
	}
	b.WriteString("event: ")
	b.WriteString(kind)
	b.WriteString("\ndata: ")
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(data); err != nil { // ends the line
		return nil, fmt.Errorf("write event %s: %w", kind, err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
