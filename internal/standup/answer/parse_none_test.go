package answer

import "testing"

// SaysNone neither hides a blocker nor turns "none" into one.
func TestSaysNone(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "-", "—", "none", "None.", "**None**", "- none", "N/A", "n/a", "No", "Nope!", "nil", "0", "✅", "🎉 None 🎉", "No blockers", "No blockers today.", "No blockers at this time!",
		"No current blockers.", "None at the moment", "None currently", "None right now, thanks!", "Nothing", "Nothing blocking me", "Nothing is blocking me right now.", "Not blocked",
		"I'm not blocked.", "I have no blockers", "There are no blockers at present.", "I don't have any blockers", "I don’t have any blockers right now", "No impediments", "No known issues",
		"N.A.", "None / n.a.", "Keine", "Keine.", "**Keine**", "- Keine", "Keine Blocker", "Keine Blocker heute.", "Derzeit keine Blockaden oder Risiken", "Es gibt keine Hindernisse.", "Nichts", "Nichts zu berichten",
		"nicht blockiert", "k.A.", "Keine, alles gut!", "Kein Blocker 🎉", "Entfällt", "Nein", "Ich bin nicht blockiert.", "Keine bekannten Probleme", "Blocker: keine",
		"Aucun", "Aucun blocage", "Aucun blocage pour l'instant.", "Aucun point bloquant", "Rien", "Rien à signaler", "RAS", "R.A.S.", "Néant", "Pas de blocage aujourd’hui", "Je ne suis pas bloqué.", "Rien ne me bloque", "aucun probleme",
		"Ninguno", "Ninguno por ahora", "Sin bloqueos", "No hay bloqueos", "No tengo bloqueos por el momento.", "Nada", "Ningún impedimento", "Nada que reportar",
		"Nenhum", "Nenhum bloqueio", "Sem bloqueios", "Não há impedimentos no momento.", "nao tenho bloqueios", "Nada a relatar", "Nessuno", "Nessun blocco", "Nessun impedimento al momento", "Niente da segnalare", "Non ci sono blocchi",
		"Geen", "Geen blokkades", "Geen belemmeringen op dit moment.", "Niets", "n.v.t.", "Ingen", "Inga hinder", "Ingen blokeringer", "Ingenting", "Inga blockerare just nu", "Ikke blokkert", "Ei mitään", "Ei esteitä", "Ei ole",
		"Brak", "Brak blokerów", "Brak przeszkód.", "Nie ma", "Nic", "Žádné", "Žádné překážky", "Nic", "Žiadne", "Nincs", "Nincs akadály", "Semmi", "Niciunul", "Niciun blocaj", "Nimic", "Yok", "Engel yok", "Şu an yok", "Hiçbir şey",
		"нет", "Нет.", "Нет блокеров", "Пока нет", "Блокеров нет", "Отсутствуют", "ничего", "Не заблокирован", "Немає", "Няма", "Nema", "Κανένα", "Κανένα εμπόδιο", "Τίποτα", "Δεν υπάρχουν εμπόδια",
		"لا يوجد", "لا يوجد.", "لا توجد عوائق", "لا شيء", "لا يوجد أي عوائق حاليا", "אין", "אין חסמים", "هیچ", "مانعی وجود ندارد", "कोई नहीं", "कुछ नहीं", "कोई बाधा नहीं", "Tidak ada", "Tidak ada hambatan", "Không có", "Không", "ไม่มี", "ไม่มีอุปสรรคครับ",
		"なし", "なし。", "特になし", "特になし。", "特にありません", "ありません。", "ブロッカーなし", "ブロッカーはありません", "今のところなし", "・なし", "問題ありません", "無し", "ない", "特に問題なし。", "該当なし", "ブロックされていません",
		"无", "无。", "無", "没有", "暂无", "暂无阻塞", "没有阻碍。", "目前没有", "没有任何问题", "沒有", "无阻塞项", "不适用", "없음", "없음.", "없습니다.", "블로커 없음", "특이사항 없음", "현재 없음", "해당 없음", "특별한 문제 없습니다", "——", "。",
		"- Keine\n- Aucun", "None identified", "None that I'm aware of", "Nothing to report", "All clear", "No blockers – all clear! 🎉", "- None\n- n/a", "Blockers: none", "No major blockers so far", "Unblocked", "(none)",
	} {
		if !SaysNone(s) {
			t.Errorf("%q is taken for a blocker", s)
		}
	}
	for _, s := range []string{
		"No access to staging", "No time today", "No progress on the keys", "No one answers", "Nothing works", "none of the tests pass", "Not clear who owns it", "None, but the CI is slow",
		"no response from legal yet", "No blockers except TASK-4", "keys", "TASK-3", "Waiting", "Blocked", "Blockers", "not sure", "No work", "I am blocked", "the moment of truth", "None\n- TASK-3",
		"Keine Antwort vom Kunden", "Keine Zugangsdaten", "Keine Ahnung, warum der Test scheitert", "Nichts geht mehr", "Der Server läuft nicht", "Es läuft nicht", "Keine, aber die CI ist langsam", "Kein Zugriff", "Kein Strom", "Nicht klar", "Blockiert", "Probleme",
		"Aucune réponse du client", "Pas d'accès", "Rien ne marche", "Aucun accès à la base", "Bloqué", "Sans réponse de TASK-3", "Ninguna respuesta del cliente", "Sin acceso", "No funciona", "No hay acceso", "No puedo entrar", "Nada funciona",
		"Nenhuma resposta do cliente", "Sem acesso", "Não funciona", "Nessuna risposta", "Niente accesso", "Non funziona", "Geen toegang", "Geen reactie van de klant", "Ingen åtkomst", "Inget svar från kunden", "Ei pääsyä", "Ei toimi",
		"Brak dostępu", "Brak odpowiedzi od klienta", "Nie działa", "Žádná odpověď", "Nincs hozzáférés", "Niciun răspuns", "Erişim yok", "нет доступа", "Нет ответа от клиента", "Не работает", "Καμία απάντηση",
		"لا يوجد رد من العميل", "אין גישה", "कोई जवाब नहीं", "Tidak ada akses", "Không có quyền truy cập", "ไม่มีสิทธิ์", "返信なし", "アクセス権がない", "顧客から連絡がありません", "なし、ただし承認待ち", "没有权限", "无法登录", "没有回复", "권한 없음", "응답 없음", "고객 답변이 없습니다",
		"- Keine\n- TASK-3", "Jenkins", "Redis",
	} {
		if SaysNone(s) {
			t.Errorf("%q is taken for none", s)
		}
	}
}

// A section with a heading in another language stays whole, and nothing in it counts as a part of the report.
func TestUnreadHeadings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ report, yesterday, today, blockers, other string }{
		{"## Gestern\n- TASK-1\n\n## Heute\n- TASK-2\n\n## Hindernisse\nKeine Blocker", "", "", "", "## Gestern\n- TASK-1\n\n## Heute\n- TASK-2\n\n## Hindernisse\nKeine Blocker"},
		{"## 昨日\n- TASK-1\n\n## 今日\n- Today: TASK-2", "", "", "", "## 昨日\n- TASK-1\n\n## 今日\n- Today: TASK-2"},
		{"## Yesterday\na\n## Today\nb\n## Hindernisse\nNo blockers today.", "a", "b", "", "## Hindernisse\nNo blockers today."},
		{"## Yesterday\na\n## Today\nb\n## Hindernisse\nKeine Blocker", "a", "b", "", "## Hindernisse\nKeine Blocker"},
		{"## Yesterday\na\n## Today\nb\n## Heute\n- Blockers: c", "a", "b", "", "## Heute\n- Blockers: c"},
		{"## Yesterday\na\n## Today\nb\n## Risiken\n- Blockers: c\n## Blockers\nd", "a", "b", "d", "## Risiken\n- Blockers: c"},
		{"**Blockers:** Keine\n**Heute:** a", "", "", "", "**Heute:** a"},
		{"**Yesterday:** a\n**Blocker:** なし。", "a", "", "", ""},
		{"## Gestern\na\n## Blocker\nAucun.", "", "", "", "## Gestern\na"},
		{"## Blockers\nKeine.\n\nBis morgen!", "", "", "", "Bis morgen!"},
		{"## Blockers\nKeine.\n\nAber die CI ist langsam.", "", "", "Keine.\n\nAber die CI ist langsam.", ""},
		{"## Blockers\nKeine Antwort vom Kunden", "", "", "Keine Antwort vom Kunden", ""},
		{"# Daily\n\nYesterday: a\nToday: b\nBlockers: Ninguno", "a", "b", "", "# Daily"},
	} {
		p := ParseReport(c.report)
		if text(p.Yesterday) != c.yesterday || text(p.Today) != c.today || text(p.Blockers) != c.blockers || p.Other != c.other {
			t.Errorf("%q: %q, %q, %q, %q", c.report, text(p.Yesterday), text(p.Today), text(p.Blockers), p.Other)
		}
	}
}
