package redact

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// forms are the ways in which tools get and keep secrets, with the secrets, none of which looks random, and what must stay.
var forms = []struct{ text, secret, stays string }{
	// kubeconfig and Kubernetes
	{"    client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUM=\n    client-key-data: c2VjcmV0\n", "c2VjcmV0", "client-certificate-data: LS0tLS1CRUdJTiBDRVJU"},
	{"client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlF", "LS0tLS1CRUdJTiBSU0Eg", "client-key-data"},
	{"tls.key: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSUV2Z0lCQURB\n  TkJna3Foa2lHOXcwQkFRRUZBQVNDQktnd2dnU2tBZ0VBQW9JQkFRQw==", "TkJna3Foa2lHOXcw", "tls.key: "},
	{"certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUM=", "", "LS0tLS1CRUdJTiBDRVJU"},
	{"users:\n- name: admin\n  user:\n    token: abc123def\n    username: bob\n    password: swordfish\n", "abc123def", "name: admin"},
	{"  user:\n    username: bob\n    password: swordfish\n", "swordfish", "username: bob"},
	{"{\"user\":{\"client-key-data\":\"c2VjcmV0\",\"token\":\"abc123def\"}}", "c2VjcmV0", "client-key-data"},
	{".dockerconfigjson: eyJhdXRocyI6eyJyIjp7fX19", "eyJhdXRocyI6", "dockerconfigjson"},
	{"kubectl config set-credentials me --token=kitten --username=bob", "kitten", "--username=bob"},
	{"kubectl create secret generic db --from-literal=pass=kitten", "kitten", "generic db"},
	{"kubectl create secret docker-registry r --docker-username=bob --docker-password=kitten", "kitten", "--docker-username=bob"},
	{"env:\n- name: DB_PASSWORD\n  value: kitten\n", "kitten", "DB_PASSWORD"},
	// docker and its kin
	{"{\"auths\":{\"r.io\":{\"auth\":\"Ym9iOmtpdHRlbg==\",\"email\":\"b@r.io\"}}}", "Ym9iOmtpdHRlbg", "b@r.io"},
	{"{\"identitytoken\": \"kitten-kitten\"}", "kitten-kitten", "identitytoken"},
	{"docker login -u bob -p kitten r.io", "kitten", "-u bob"},
	{"docker login r.io --username bob --password kitten", "kitten", "--username bob"},
	{"podman login -p=kitten r.io && podman push x", "kitten", "podman push x"},
	{"skopeo copy --src-creds bob:kitten docker://a docker://b", "kitten", "docker://a"},
	{"helm registry login r.io -u bob -p kitten", "kitten", "r.io"},
	{"echo kitten | docker login -u bob --password-stdin", "kitten", "-u bob"},
	{"printf '%s' \"kitten\" | sudo -S apt update", "kitten", "apt update"},
	{"echo 'root:kitten' | chpasswd", "kitten", "chpasswd"},
	{"docker login --password-stdin <<< kitten", "kitten", "docker login"},
	{"oc login --token=kitten --server=https://c", "kitten", "--server=https://c"},
	// .netrc
	{"machine api.example.com login bob password kitten", "kitten", "login bob"},
	{"machine api.example.com\n  login bob\n  password kitten\n", "kitten", "login bob"},
	{"machine a.example\n\tlogin bob\n\tpassword kitten\nmachine b.example login eve password puppies", "puppies", "login eve"},
	{"default login anonymous password kitten", "kitten", "anonymous"},
	{"machine api.example.com # the main one\n  login bob\n  password kitten\n", "kitten", "login bob"},
	{"secret_key = wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI", "secret_key"},
	{"machine api.example.com password kitten22", "kitten22", "api.example.com"},
	{"  password kitten22\n", "kitten22", "password"},
	// ssh and remote desktops
	{"sshpass -p kitten ssh -p 2222 root@host", "kitten", "ssh -p 2222 root@host"},
	{"sshpass -pkitten ssh root@host", "kitten", "root@host"},
	{"sshpass -p 'two kittens' scp a b", "two kittens", "scp a b"},
	{"sshpass -p\"two kittens\" scp a b", "two kittens", "scp a b"},
	{"/usr/bin/sshpass -v -p kitten rsync a b", "kitten", "rsync a b"},
	{"SSHPASS=kitten sshpass -e ssh host", "kitten", "ssh host"},
	{"plink -pw kitten host", "kitten", "host"},
	{"Private-Lines: 2\n" + strings.Repeat("AAAAIBkitten7+/9", 4) + "\nAAAAIBkitten\nPrivate-MAC: 77", "kitten", "Private-MAC: 77"},
	{"xfreerdp /u:bob /p:kitten /v:host", "kitten", "/v:host"},
	{"expect \"*assword:\"\nsend \"kitten\\r\"", "kitten", "send"},
	// web servers and hosts of code
	{"htpasswd -bc .htpasswd bob kitten && ls", "kitten", "&& ls"},
	{"htpasswd -nbB bob 'two kittens'", "two kittens", "bob"},
	{"htpasswd -c .htpasswd bob", "", "htpasswd -c .htpasswd bob"},
	{"git clone https://k1tten5Ab9x2QwLm47Rt@host.example/a.git", "k1tten5Ab9x2QwLm47Rt", "host.example/a.git"},
	{"ssh://deploy-of-the-website@host.example/a.git", "", "ssh://deploy-of-the-website@host.example/a.git"},
	// databases
	{"mysql -u root -pkitten app", "kitten", "app"},
	{"mysql -u root -p app", "", "mysql -u root -p app"},
	{"mysqldump -uroot -p'two kittens' app", "two kittens", "app"},
	{"mysqladmin --user=root --password=kitten status", "kitten", "status"},
	{"docker exec db mysql -pkitten -e 'SELECT 1'", "kitten", "SELECT 1"},
	{"ssh host \"mysql -pkitten app\" && ls", "kitten", "&& ls"},
	{"MYSQL_PWD=cat mysql app", "=cat", "mysql app"},
	{"PGPASSWORD=cat psql -h db", "=cat", "psql -h db"},
	{"PGPASSWORD: cat\nPGUSER: bob", ": cat", "PGUSER: bob"},
	{"db.example.com:5432:app:bob:kitten\n", "kitten", "app:bob"},
	{"*:*:*:bob:kitten", "kitten", "*:*:*:bob"},
	{"psql \"host=db user=bob password=kitten dbname=app\"", "kitten", "dbname=app"},
	{"Server=db;User Id=sa;Password=kitten;Encrypt=true", "kitten", "Encrypt=true"},
	{"jdbc:postgresql://db/app?user=bob&password=kitten&ssl=true", "kitten", "ssl=true"},
	{"[client]\nuser = root\npassword = kitten\n", "kitten", "user = root"},
	{"redis-cli -h db -a kitten ping", "kitten", "ping"},
	{"mongosh -u bob -p kitten --host db", "kitten", "--host db"},
	{"ldapsearch -x -D cn=admin -w kitten -b dc=x", "kitten", "-b dc=x"},
	{"sqlcmd -S db -U sa -P kitten -Q 'SELECT 1'", "kitten", "SELECT 1"},
	// HTTP
	{"curl -u bob:kitten https://a.example", "kitten", "https://a.example"},
	{"curl -sSu bob:kitten https://a.example", "kitten", "bob"},
	{"curl -ubob:kitten https://a.example", "kitten", "bob"},
	{"curl --user \"bob:two kittens\" https://a.example", "two kittens", "bob"},
	{"curl https://a.example --proxy-user=bob:kitten", "kitten", "bob"},
	{"curl -d 'password=kitten' https://a.example", "kitten", "https://a.example"},
	{"curl -d '{\"username\":\"bob\",\"password\":\"kitten\"}' https://a.example", "kitten", "bob"},
	{"curl -H 'Authorization: Basic Ym9iOmtpdHRlbg==' https://a.example", "Ym9iOmtpdHRlbg", "https://a.example"},
	{"Authorization: Token kitten22", "kitten22", "Authorization"},
	{"X-Api-Key: kitten22", "kitten22", "X-Api-Key"},
	{"http -a bob:kitten GET a.example", "kitten", "GET a.example"},
	{"wget --user=bob --password=kitten https://a.example", "kitten", "https://a.example"},
	{"https://bob:kitten@git.example/x.git", "kitten", "git.example/x.git"},
	{"protocol=https\nhost=git.example\nusername=bob\npassword=kitten\n", "kitten", "username=bob"},
	// packages, cloud, archives
	{"//registry.npmjs.org/:_authToken=kitten", "kitten", "//registry.npmjs.org/"},
	{"npm config set //registry.npmjs.org/:_authToken kitten", "kitten", "npm config set"},
	{"_auth=Ym9iOmtpdHRlbg==", "Ym9iOmtpdHRlbg", "_auth="},
	{"[pypi]\nusername = __token__\npassword = kitten\n", "kitten", "__token__"},
	{"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI", "aws_secret_access_key"},
	{"{\"type\":\"service_account\",\"private_key\":\"-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----\\n\",\"client_id\":\"1\"}", "MIIE", "client_id"},
	{"DefaultEndpointsProtocol=https;AccountName=a;AccountKey=a8Fk2Lm9Qp4Rt7Vx1Zb6Nc3Hd5Jg0Sw8==;EndpointSuffix=x", "a8Fk2Lm9Qp4", "EndpointSuffix=x"},
	{"Endpoint=sb://x/;SharedAccessKeyName=r;SharedAccessKey=a8Fk2Lm9Qp4Rt7Vx1Zb6Nc3Hd5Jg0Sw8=", "a8Fk2Lm9Qp4", "Endpoint=sb://x/"},
	{"https://a.blob/x?sv=2024&sig=a8Fk2Lm9Qp4Rt7Vx1Zb6Nc3%2Fd5Jg0Sw8%3D&se=2030", "a8Fk2Lm9Qp4", "se=2030"},
	{"7z x -pkitten a.7z", "kitten", "a.7z"},
	{"unzip -P kitten a.zip", "kitten", "a.zip"},
	{"openssl enc -d -aes256 -pass pass:kitten -in a", "kitten", "-in a"},
	{"gpg --batch --passphrase kitten -d a.gpg", "kitten", "-d a.gpg"},
	{"keytool -list -keystore a -storepass kitten", "kitten", "-keystore a"},
	{"deploy --password kitten22 --region eu", "kitten22", "--region eu"},
	{"deploy --token=kitten --region eu", "kitten", "--region eu"},
	{"glsa_a8Fk2Lm9Qp4Rt7Vx1Zb6Nc3Hd5Jg0Sw8_1a2b3c4d", "a8Fk2Lm9", ""},
	// what only looks alike
	{"docker run --name mysql -p3306:3306 mysql:8", "", "docker run --name mysql -p3306:3306 mysql:8"},
	{"docker run -p 8080:80 nginx", "", "docker run -p 8080:80 nginx"},
	{"sshpass -f /run/secret ssh host", "", "sshpass -f /run/secret ssh host"},
	{"curl -u $USER:$PASS https://a.example", "", "curl -u $USER:$PASS https://a.example"},
	{"mysql -p$MYSQL_PASSWORD app", "", "mysql -p$MYSQL_PASSWORD app"},
}

// Secrets are found in every form that the tools of a machine have, whatever they look like.
func TestMaskForms(t *testing.T) {
	t.Parallel()
	m := New()
	check := func(how, got, secret, stays string) {
		t.Helper()
		if secret != "" && (strings.Contains(got, secret) || !strings.Contains(got, "[masked:")) || !strings.Contains(got, stays) {
			t.Errorf("%s: without %q, with %q: %s", how, secret, stays, got)
		}
	}
	encoded := func(v string) string {
		b, _ := json.Marshal(v)
		return string(b)
	}
	for _, f := range forms {
		check("text", m.text(f.text, false), f.secret, f.stays)
		// As a tool's arguments, and as raw output of a program that prints JSON.
		var args struct{ Command string }
		if err := json.Unmarshal([]byte(m.JSON(`{"command":`+encoded(f.text)+`}`)), &args); err != nil {
			t.Error(err)
		}
		check("arguments", args.Command, f.secret, f.stays)
		inner := encoded(f.text)
		check("output", m.text(`{"stdout":`+inner+`,"code":0}`, false), f.secret, `"code":0`)
		check("output in output", m.text(encoded(`{"stdout":`+inner+`,"code":0}`), false), f.secret, `code`)
	}
}

// The arguments of a program can be a list, in which a secret has no spaces around it.
func TestMaskLists(t *testing.T) {
	t.Parallel()
	m := New()
	for given, want := range map[string]string{
		`{"command":["sshpass","-p","two kittens","ssh","-p","22","host"]}`:           `{"command":["sshpass","-p","[masked:password]","ssh","-p","22","host"]}`,
		`{"command":"sshpass","args":["-pkitten","ssh","host"]}`:                      `{"args":["-p[masked:password]","ssh","host"],"command":"sshpass"}`,
		`{"argv":["/usr/bin/mysql","-u","root","-pkitten"]}`:                          `{"argv":["/usr/bin/mysql","-u","root","-p[masked:password]"]}`,
		`["curl","-u","bob:kitten","https://a.example"]`:                              `["curl","-u","bob:[masked:password]","https://a.example"]`,
		`["deploy","--password","kitten","--region","eu"]`:                            `["deploy","--password","[masked:password]","--region","eu"]`,
		`["deploy","--token=kitten","--region=eu"]`:                                   `["deploy","--token=[masked:password]","--region=eu"]`,
		`["bash","-c","sshpass -p kitten ssh host"]`:                                  `["bash","-c","sshpass -p [masked:password] ssh host"]`,
		`{"env":[{"name":"PGPASSWORD","value":"kitten"},{"name":"A","value":"cat"}]}`: `{"env":[{"name":"PGPASSWORD","value":"[masked:secret]"},{"name":"A","value":"cat"}]}`,
		`{"secret_key":"kitten","key":"cat"}`:                                         `{"key":"cat","secret_key":"[masked:secret]"}`,
		`{"auth":"Ym9iOmtpdHRlbg==","mode":"auth"}`:                                   `{"auth":"[masked:secret]","mode":"auth"}`,
		`{"client-key-data":"c2VjcmV0","client-certificate-data":"LS0t"}`:             `{"client-certificate-data":"LS0t","client-key-data":"[masked:secret]"}`,
		`{"token":"kitten-22","tokens":14000,"page_token":"abc-22-def"}`:              `{"page_token":"abc-22-def","token":"[masked:secret]","tokens":14000}`,
	} {
		if got := m.JSON(given); got != want {
			t.Errorf("%s\nbecame %s\nwant   %s", given, got, want)
		}
	}
	for given, want := range map[string]string{
		`run(["sshpass", "-p", "two kittens", "ssh", "host"])`:                         `run(["sshpass", "-p", "[masked:password]", "ssh", "host"])`,
		`['mysql', '-pkitten', 'app']`:                                                 `['mysql', '-p[masked:password]', 'app']`,
		`{"argv":"[\"sshpass\",\"-p\",\"kitten\",\"ssh\"]"}`:                           `{"argv":"[\"sshpass\",\"-p\",\"[masked:password]\",\"ssh\"]"}`,
		"CMD [\n  \"curl\",\n  \"-u\",\n  \"bob:kitten\",\n  \"https://a.example\"\n]": "CMD [\n  \"curl\",\n  \"-u\",\n  \"bob:[masked:password]\",\n  \"https://a.example\"\n]",
		"curl -s \\\n  -u bob:kitten \\\n  https://a.example":                          "curl -s \\\n  -u bob:[masked:password] \\\n  https://a.example",
	} {
		if got := m.text(given, false); got != want {
			t.Errorf("%s\nbecame %s\nwant   %s", given, got, want)
		}
	}
}

// Prose about passwords and code that handles them stay readable.
func TestMaskLeavesProse(t *testing.T) {
	t.Parallel()
	m := New()
	for _, text := range []string{
		"The password must be changed every 90 days.", "Password: Minimum 12 characters.", "password: Required", "Use --password to set one.",
		"machine learning needs password protection", "the default password must be changed", "password: userInput.password", "password = hash(password)", "Pass: s.stopStray, Away: s.Away", "Password: &n.Password,", "yourPassword: 'Your password',", "const ownPassword = (form: FormData) => 1",
		"PrivateKey: base64.RawURLEncoding.EncodeToString(seed),",
		"type Login = { username: string; password: string }", "username: string, password: string", "const password = req.body.password",
		"The mysql -p option asks for the password.", "Run docker login, then docker push.", "curl -u takes a user", "an auth: none setting",
		"auth: required", "token: string", "The token is not set.", "PGPASSWORD is not set", "export PGPASSWORD=$DB_PASSWORD", "password=%s", "password: ********",
		"echo done | tee log", "see main.go:1234:func:b:c and a:5432", "--token=<token>", "--password=PASSWORD", "usage: sshpass -p PASSWORD command",
		"Basic authentication is deprecated.", "Basic settings and basic needs", "client-certificate-data: LS0tLS1CRUdJTiBDRVJU", "machine host login user",
		"the secret is out; the key is in the details", "user: bob\nrole: admin\n", "password policy: at least 12 characters",
	} {
		if got := m.text(text, false); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// A text that an agent makes to be slow must not hold up the archive.
func TestMaskTakesLinearTime(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	m := New()
	pieces := []string{"password=", "curl -u ", "\"curl\",", "mysql mysql ", "\\\"password\\\":\\\"", "machine a login b ", "echo ", "LS0tLS1CRUdJTi", "name: PASSWORD value", "user=a password", "://a:", "-----BEGIN PRIVATE KEY-----", "eyJ", "a:5432:", "sshpass -p '", "cookie: a=", "(((", "token "}
	for _, piece := range pieces {
		measure := func(n int) time.Duration {
			text, best := strings.Repeat(piece, n/len(piece)), time.Hour
			for range 3 {
				began := time.Now()
				m.text(text, false)
				best = min(best, time.Since(began))
			}
			return best
		}
		// Eight times the text takes about eight times as long; 64 times if the time were quadratic.
		// Other work on the machine can make a measurement too long, but not each of five.
		for tries := 1; ; tries++ {
			small, large := measure(100_000), measure(800_000)
			if large <= 32*max(small, time.Millisecond) {
				break
			}
			if tries == 5 {
				t.Errorf("%q: %s for 100 kB, %s for 800 kB", piece, small, large)
				break
			}
		}
	}
}
