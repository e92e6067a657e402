//# allFunctionsCalledOnLoad
function e(e,t){let n=e.ledger_begins_at===null?t:Date.parse(e.ledger_begins_at);return n>=Date.parse(e.to)?`nothing`:n>Date.parse(e.from)?`part`:`all`}export{e as t};