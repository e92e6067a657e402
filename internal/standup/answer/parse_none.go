package answer

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// noneWords lists phrases that say that there is no blocker. The phrases do not include filler words.
var noneWords = []string{
	"none", "no", "nope", "nil", "null", "n a", "na", "nothing", "zero", "0", "no blockers", "no blocker", "no blocking issues", "no blocking", "no blocks",
	"no impediments", "no impediment", "no obstacles", "no obstacle", "no roadblocks", "no roadblock", "no issues", "no problems", "no concerns", "no risks",
	"no dependencies", "no hurdles", "0 blockers", "zero blockers", "nothing blocking", "nothing blocks", "nothing blocked", "nothing is blocking", "not blocked", "unblocked", "not blocked by anything", "nothing stopping",
	"nothing in way", "nothing way", "nothing holding back", "don't blockers", "don't any blockers", "do not blockers", "not blockers", "none blocking", "clear", "all clear", "all good",
	"good", "not applicable", "all dependencies resolved", "on track", "all on track", "everything on track", "smooth sailing", "blocker free", "free blockers", "nothing urgent", "no escalations", "n",
}

// fillerWords are words that do not change the meaning of "no blockers".
const fillerWords = " currently today now me known active major current any new i am i'm i've have there there's are is really identified reported still yet outstanding " +
	"significant hard external open critical immediate it it's thanks thank you for the of my our as far aware "

// fillerPhrases removes phrases that do not change the meaning of "no blockers".
var fillerPhrases = strings.NewReplacer(
	" at this time ", " ", " at this point ", " ", " at this moment ", " ", " at the moment ", " ", " for the moment ", " ", " at present ", " ", " for now ", " ", " right now ", " ",
	" so far ", " ", " as of now ", " ", " as of today ", " ", " on my side ", " ", " on my end ", " ", " from my side ", " ", " from my end ", " ", " on our side ", " ", " on our end ", " ",
	" to report ", " ", " to raise ", " ", " to flag ", " ", " to mention ", " ", " from me ", " ", " that i know of ", " ", " i know of ", " ", " that i'm aware of ", " ", " i'm aware of ", " ",
	" that i am aware of ", " ", " i am aware of ", " ",
)

// maxNone is the maximum length, in bytes, of a text that is recognized as "none".
const maxNone = 160

// saysNone reports whether the text says only that there is no blocker.
func saysNone(text string) bool {
	if len(text) > maxNone {
		return false
	}
	text = markupTag.ReplaceAllString(text, " ")
	words := strings.FieldsFunc(strings.ReplaceAll(strings.ToLower(text), "’", "'"), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\''
	})
	if len(words) == 0 {
		return !strings.ContainsFunc(text, unicode.IsLetter)
	}
	kept := words[:0:0]
	for w := range strings.FieldsSeq(fillerPhrases.Replace(" " + strings.Join(words, " ") + " ")) {
		if w = strings.Trim(w, "'"); w != "" && !strings.Contains(fillerWords, " "+w+" ") {
			kept = append(kept, w)
		}
	}
	if len(kept) > 0 && (kept[0] == "blockers" || kept[0] == "blocker") && len(kept) > 1 {
		kept = kept[1:] // "Blockers none"
	}
	return len(kept) > 0 && isNone(kept)
}

// markupTag matches HTML tags that agents put around a word.
var markupTag = regexp.MustCompile(`(?i)</?(p|li|ul|ol|em|strong|b|i|br|div|span)\s*/?>`)

// isNone reports whether the words consist only of phrases from noneWords.
func isNone(words []string) bool {
	if len(words) == 0 {
		return true
	}
	for n := min(len(words), 4); n > 0; n-- {
		if slices.Contains(noneWords, strings.Join(words[:n], " ")) && isNone(words[n:]) {
			return true
		}
	}
	return false
}

var blockerNoun = regexp.MustCompile(`(?i)\b(un)?block(er|ers|ed|ing|age|ages)?\b|\bimpediments?\b|\bobstacles?\b|\broadblocks?\b`)

// mentionsBlockers reports whether the text is short and contains a word such as "blocker"
// or "impediment".
func mentionsBlockers(text string) bool {
	return len(text) <= maxNone && blockerNoun.MatchString(text)
}

// contradiction matches words suggesting that the text after "None" describes a blocker after all.
var contradiction = regexp.MustCompile(`(?i)\b(block\w*|wait\w*|stuck|but|however|although|except|depend\w*|risk\w*|task-\d+|need access|pending)\b`)

// cutNone checks whether s, the content of a report's Blockers part, says that there are no
// blockers. If so, it returns an empty text and any remark that follows. Otherwise it returns s as
// text.
func cutNone(s string) (text, after string) {
	if saysNone(s) {
		return "", ""
	}
	head, rest, ok := strings.Cut(s, "\n\n")
	if !ok || !saysNone(head) {
		return s, ""
	}
	rest = strings.TrimSpace(rest)
	if _, list := cutMarker(rest); list || contradiction.MatchString(rest) {
		return s, ""
	}
	return "", rest
}
