package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Topics are what a stream can be about: the kinds of the events' subjects,
// and those of states.
const (
	TopicTask     = "task"
	TopicProject  = "project"
	TopicStandup  = "standup"
	TopicTeam     = "team"
	TopicSchedule = "schedule"
	TopicInbox    = "inbox" // what needs a human; only for those who may use the inbox
	TopicUser     = "user"  // all of the audit, and only for those who may read it
	TopicGateway  = "gateway"
	TopicUsage    = "usage"   // that the ledger of what runs cost has grown
	TopicSession  = "session" // the runtime's sessions, and the connection that they are read over
)

// State is something that is so at the moment and not kept, such as the state of
// a connection. On a stream it has no id, so that a resume does not repeat it.
type State struct {
	Kind   string // such as agentrt.status
	Topics []string
	Data   any // what json.Marshal makes an object of
	// Session, when not empty, is the key of the session of the runtime that the
	// state is of, and only those streams get it that asked for that session.
	Session string
}

// frame is one event or state as it goes over the wire, encoded once for all
// streams. None of it is changed after it was made.
type frame struct {
	id     int64    // 0 for a state
	class  Class    // empty for a state
	topics []string // one for an event
	about  string   // the id of the subject
	only   string   // the key of the session that a reader must have asked for; empty is everybody
	text   []byte
}

func frameOf(e Event) (frame, error) {
	text, err := encode(e.ID, e.Kind, e)
	topic := e.Subject.Kind
	if e.Class == Audit {
		topic = TopicUser // what is deleted is told twice: here, and among its own
	}
	return frame{id: e.ID, class: e.Class, topics: []string{topic}, about: e.Subject.ID, text: text}, err
}

func (s State) frame() (frame, error) {
	text, err := encode(0, s.Kind, s.Data)
	return frame{topics: s.Topics, only: s.Session, text: text}, err
}

// note is the frame that tells a reader where its stream stands: what it has
// seen up to id, it need not ask for again.
func note(kind string, id int64) []byte {
	return fmt.Appendf(nil, "id: %d\nevent: %s\ndata: {\"id\":%d}\n\n", id, kind, id)
}

// encode writes a frame of a kind, with an id unless that is zero, and with data
// as one line of JSON, as the rest of the API writes it.
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
