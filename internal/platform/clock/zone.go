package clock

import (
	"fmt"
	"regexp"
	"time"
	_ "time/tzdata" // zones also where the machine has none
)

// zoneShape is how the IANA database spells the names that are meant for
// people: parts that begin with a capital. The copies for other purposes that a
// machine may have beside them ("right/", which counts leap seconds, "posix/",
// "localtime") do not, and neither do paths that lead elsewhere.
var zoneShape = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*){0,2}$`)

// Zone loads a time zone by its IANA name, such as Europe/Berlin or UTC. It
// refuses what time.LoadLocation takes beside these: the empty name, "Local"
// and "Factory", which are other zones on other machines or none at all.
func Zone(name string) (*time.Location, error) {
	if !zoneShape.MatchString(name) || name == "Local" || name == "Factory" {
		return nil, fmt.Errorf("no time zone has such a name: give an IANA name, such as Europe/Berlin")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("no time zone is called %s: give an IANA name, such as Europe/Berlin", name)
	}
	return zone, nil
}
