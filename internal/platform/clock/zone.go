package clock

import (
	"fmt"
	"regexp"
	"time"
	_ "time/tzdata" // for machines without a time zone database
)

// zoneShape matches IANA zone names, in which each part starts with a capital letter. It
// rejects other names that some machines accept, such as "localtime", "posix/…" and
// "right/…" (time with leap seconds).
var zoneShape = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*){0,2}$`)

// Zone loads a time zone by its IANA name, such as Europe/Berlin or UTC. Unlike
// time.LoadLocation, it rejects the empty name, "Local" and "Factory", because they
// mean different zones on different machines.
func Zone(name string) (*time.Location, error) {
	if !zoneShape.MatchString(name) || name == "Local" || name == "Factory" {
		return nil, fmt.Errorf("not a time zone name: use an IANA name, such as Europe/Berlin")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %s: use an IANA name, such as Europe/Berlin", name)
	}
	return zone, nil
}
