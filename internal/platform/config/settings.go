package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Setting describes one setting, as declared in the tags of Raw.
type Setting struct {
	Env      string // name in the environment and in .env
	Flag     string // name on the command line, without the dashes
	Default  string
	Help     string // one or more sentences
	Group    string // heading in docs/settings.md
	Secret   bool   // whether its value is always hidden
	Required bool   // whether the program refuses to start without it
	Editable bool   // whether people can change it in the dashboard while it is not set
}

// Settings returns all settings in the order in which Raw declares them.
func Settings() []Setting {
	var out []Setting
	for f := range fields(reflect.ValueOf(&Raw{}).Elem()) {
		out = append(out, f.Setting)
	}
	return out
}

// field is a setting together with its value.
type field struct {
	Setting
	value reflect.Value
}

// fields iterates over the settings of a Raw or RawCommon.
func fields(v reflect.Value) func(yield func(field) bool) {
	return func(yield func(field) bool) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Anonymous {
				for inner := range fields(v.Field(i)) {
					if !yield(inner) {
						return
					}
				}
				continue
			}
			s := Setting{
				Env: f.Tag.Get("env"), Flag: f.Tag.Get("name"), Default: cmp.Or(f.Tag.Get("default"), f.Tag.Get("unset")),
				Help: f.Tag.Get("help"), Group: f.Tag.Get("group"),
				Secret: f.Type == reflect.TypeFor[Secret](), Required: f.Tag.Get("must") == "true",
				Editable: f.Tag.Get("unset") != "",
			}
			if !yield(field{s, v.Field(i)}) {
				return
			}
		}
	}
}

// Given maps the name of each setting's environment variable to the setting's value.
// It contains only settings that differ from their defaults. Secrets are redacted.
type Given map[string]string

// String returns the names of the variables, without their values.
func (g Given) String() string { return strings.Join(slices.Sorted(maps.Keys(g)), ",") }

func given(r Raw) Given {
	out := Given{}
	for f := range fields(reflect.ValueOf(&r).Elem()) {
		switch value := f.value.String(); {
		case value == "" || value == f.Default:
		case f.Secret:
			out[f.Env] = hidden
		default:
			out[f.Env] = value
		}
	}
	return out
}

// editableSet returns the names of the editable settings that have a value.
func editableSet(r Raw) map[string]bool {
	var out map[string]bool
	for f := range fields(reflect.ValueOf(&r).Elem()) {
		if f.Editable && f.value.String() != "" {
			if out == nil {
				out = map[string]bool{}
			}
			out[f.Env] = true
		}
	}
	return out
}

// fill replaces empty settings with their defaults. The command line does this only for
// variables that are not set at all. fill also handles variables that are set but empty
// (HOST=), and a Raw that was created by Go code instead of the command line.
func fill[R Raw | RawCommon](raw R) R {
	for f := range fields(reflect.ValueOf(&raw).Elem()) {
		if f.value.String() == "" {
			f.value.SetString(f.Default)
		}
	}
	return raw
}

// Markdown returns the content of docs/settings.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Settings

You can set each setting with a flag, an environment variable, or a line in the file ` + "`.env`" + ` in the working directory.
Flags override environment variables, which override ` + "`.env`" + `, which overrides the defaults. An empty value counts as not set.
If settings are invalid, Wardroom reports all mistakes at once and exits with status 2.

Set secrets with environment variables or in ` + "`.env`" + `, not with flags: other users of the machine can read command lines.
A secret can also be in a file of its own, as container engines and systemd provide it: ` + "`JWT_SECRET_FILE=/run/secrets/jwt`" + ` instead of
` + "`JWT_SECRET`" + `, and likewise for every setting that is marked *Secret*. A line break at the end of the file is not part of the secret.
`)
	all := Settings()
	done := map[string]bool{}
	for _, s := range all {
		if done[s.Group] {
			continue
		}
		done[s.Group] = true
		fmt.Fprintf(&b, "\n## %s\n\n| Variable | Flag | Default | Meaning |\n|---|---|---|---|\n", s.Group)
		writeGroup(&b, all, s.Group)
	}
	return b.String()
}

func writeGroup(b *strings.Builder, all []Setting, group string) {
	for _, s := range all {
		if s.Group != group {
			continue
		}
		fallback := "–"
		if s.Default != "" {
			fallback = "`" + s.Default + "`"
		}
		if s.Required {
			fallback = "**required**"
		}
		help := strings.ReplaceAll(s.Help, "|", `\|`)
		if s.Secret {
			help += " *Secret.*"
		}
		if s.Editable {
			help += " If not set, people can change it in the dashboard."
		}
		fmt.Fprintf(b, "| `%s` | `--%s` | %s | %s |\n", s.Env, s.Flag, fallback, help)
	}
}
