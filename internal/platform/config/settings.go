package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Setting is one setting as the tags of Raw describe it.
type Setting struct {
	Env      string // its name in the environment and in .env
	Flag     string // its name on the command line, without the dashes
	Default  string
	Help     string // one or more sentences
	Group    string // what it is about
	Secret   bool   // its value is never shown
	Required bool   // there is no start without it
}

// Settings lists every setting, in the order in which Raw declares them.
func Settings() []Setting {
	var out []Setting
	for f := range fields(reflect.ValueOf(&Raw{}).Elem()) {
		out = append(out, f.Setting)
	}
	return out
}

// field is a setting together with the place of its value.
type field struct {
	Setting
	value reflect.Value
}

// fields walks the settings of a Raw or RawCommon.
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
				Env: f.Tag.Get("env"), Flag: f.Tag.Get("name"), Default: f.Tag.Get("default"),
				Help: f.Tag.Get("help"), Group: f.Tag.Get("group"),
				Secret: f.Type == reflect.TypeFor[Secret](), Required: f.Tag.Get("must") == "true",
			}
			if !yield(field{s, v.Field(i)}) {
				return
			}
		}
	}
}

// Given are the settings that are not at their defaults, by their names in the
// environment. A secret's value is hidden already.
type Given map[string]string

// String is the names alone.
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

// fill puts the defaults where nothing was given. The command line does that
// too; this serves an empty variable (HOST=) and whoever builds a Raw in Go.
func fill[R Raw | RawCommon](raw R) R {
	for f := range fields(reflect.ValueOf(&raw).Elem()) {
		if f.value.String() == "" {
			f.value.SetString(f.Default)
		}
	}
	return raw
}

// Markdown is the text of docs/settings.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Settings

Each setting is a flag, a variable of the environment, or a line of the file ` + "`.env`" + ` in the working directory.
A flag wins over the environment, the environment over ` + "`.env`" + `, and that over the default. An empty value counts as the default.
All mistakes are reported at once, and the program then stops with exit status 2.

A secret is better given as a variable or in ` + "`.env`" + ` than as a flag: other users of the machine can read command lines.
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
		fmt.Fprintf(b, "| `%s` | `--%s` | %s | %s |\n", s.Env, s.Flag, fallback, help)
	}
}
