/** Lists the cases of the security corpus of MCP by group, with the test that proves each. */

export interface CorpusCase {
  readonly group: number;
  readonly attack: string;
  readonly file: string;
  /** Title of the test, as written in the file. */
  readonly title: string;
}

const groups: readonly (readonly [
  name: string,
  cases: readonly (readonly [attack: string, file: string, title: string])[],
])[] = [
  [
    'poisoned descriptions',
    [
      [
        'hidden characters, instructions, encoded data and unsafe addresses in any text, names, defaults and enums included',
        'test/unit/model/mcp/definition.test.ts',
        'reports %s for %j, anywhere',
      ],
      [
        'harmless texts in all languages',
        'test/unit/model/mcp/definition.test.ts',
        'reports nothing for %j',
      ],
      [
        'excerpts in audit log and output',
        'test/unit/model/mcp/definition.test.ts',
        'returns bounded and escaped excerpts',
      ],
    ],
  ],
  [
    'rug pull',
    [
      ['every member of a definition', 'test/unit/model/mcp/definition.test.ts', 'depends on %s'],
      [
        'members that differ in letter case',
        'test/unit/model/mcp/definition.test.ts',
        'depends on %j, which some clients read as a pinned member',
      ],
      [
        'change in a list',
        'test/api/mcp/definitions.test.ts',
        'hides and refuses a tool with another %s',
      ],
      [
        'change between list and call',
        'test/api/mcp/definitions.test.ts',
        'refuses a call after the %s changed since the list',
      ],
      [
        'rename',
        'test/api/mcp/definitions.test.ts',
        'refuses a tool that was renamed between list and call, under both names',
      ],
      [
        'swap after list_changed',
        'test/api/mcp/definitions.test.ts',
        'is found at once when the server reports it on a stream',
      ],
      [
        'two definitions of one name',
        'test/api/mcp/definitions.test.ts',
        'hides the worse of two tools with one name, in any order',
      ],
    ],
  ],
  [
    'names of other servers',
    [
      [
        'one tool name on two servers',
        'test/api/mcp/corpus/other-servers.test.ts',
        'has the rules of its own server: allow-list, guardrail and limit',
      ],
      [
        'capability id of another server in a mapping',
        'test/api/resources/guardrail-mappings.test.ts',
        'rejects capabilities of another integration, and a repeated server',
      ],
      [
        'resources, cursors, tasks and progress tokens of another server',
        'test/api/mcp/corpus/hostile-callers.test.ts',
        'is passed to the server that is addressed, and never to the other',
      ],
    ],
  ],
  [
    'two readings of one request',
    [
      [
        'arguments beyond the precision of readers in headers',
        'test/api/mcp/corpus/both-eras.test.ts',
        'is another number when its digits differ beyond the precision of readers',
      ],
      [
        'line ends and invalid characters in arguments that the bridge repeats',
        'test/api/mcp/corpus/both-eras.test.ts',
        'adds no other header when the bridge writes it: %j',
      ],
      [
        'header names of a hostile schema, bridged',
        'test/api/mcp/corpus/both-eras.test.ts',
        'is left out or harmless when the server names it %j',
      ],
      [
        'names in other spellings, bridged, before the era is known',
        'test/api/mcp/corpus/both-eras.test.ts',
        'reaches no disabled tool by another spelling of its name',
      ],
      [
        'header and body of the modern era',
        'test/api/mcp/rules.test.ts',
        'is refused with 400 before any rule when it has %s',
      ],
      [
        'header and body of the legacy era',
        'test/api/mcp/rules.test.ts',
        'must not contradict the body in the legacy era either',
      ],
      [
        'headers in every spelling, doubled, quoted and encoded',
        'test/api/mcp/corpus/hostile-callers.test.ts',
        'ends the request before the server when it %s',
      ],
      [
        'headers of arguments',
        'test/api/mcp/rules.test.ts',
        'must repeat arguments that have headers',
      ],
      [
        'duplicate members, case twins, marks, UTF-16, depth',
        'test/api/mcp/rules.test.ts',
        'is 400 and reaches nobody when it is a message %s',
      ],
      [
        'methods in other spellings',
        'test/api/mcp/corpus/hostile-callers.test.ts',
        'is refused: %s',
      ],
      [
        'names in other spellings and with invisible characters',
        'test/api/mcp/corpus/hostile-callers.test.ts',
        'reaches no server when the tool is disabled: %j',
      ],
      [
        'names that only a lenient server reads',
        'test/api/mcp/corpus/hostile-callers.test.ts',
        'is refused where it is not readable or another one: %s %j',
      ],
      [
        'ids beyond the precision of readers',
        'test/api/mcp/corpus/hostile-callers.test.ts',
        'is refused when readers could understand it differently: %s',
      ],
      [
        'one id in two spellings in a batch with notifications',
        'test/api/mcp/corpus/hostile-callers.test.ts',
        'must be its own in a batch, in every spelling of a number and with notifications between',
      ],
      [
        'two lengths of one body',
        'test/api/mcp/corpus/hostile-callers.test.ts',
        'ends the connection where two lengths of the body differ',
      ],
    ],
  ],
  [
    'credentials of callers',
    [
      [
        'keys, cookies and claims under any name',
        'test/api/mcp/access.test.ts',
        'never shows its credential to the server, also not in forwarded headers of other names',
      ],
      [
        'headers with underscores',
        'test/api/mcp/corpus/hostile-callers.test.ts',
        'is not forwarded under a name that some servers read as one of the protocol',
      ],
      ['claims set by the caller', 'test/api/mcp/identity.test.ts', 'cannot be set by the caller'],
      [
        'tokens of callers in an exchange',
        'test/api/mcp/oauth/token-exchange.test.ts',
        'never receives the token of a caller',
      ],
    ],
  ],
  [
    'tokens for something else',
    [
      [
        'another server, audience or none',
        'test/api/mcp/resource-server.test.ts',
        'is 401 for another server, audience or none, and never reaches the server',
      ],
      [
        'models with a token for tools',
        'test/api/mcp/resource-server.test.ts',
        'is refused for models when it is for an MCP server',
      ],
    ],
  ],
  [
    'sessions and states of others',
    [
      [
        'session of another key or server, altered, too long',
        'test/api/mcp/access.test.ts',
        'belongs to one key and one server',
      ],
      [
        'session of another tenant',
        'test/api/mcp/corpus/hostile-callers.test.ts',
        'is unknown to all keys of the other, also at a server of the same slug and address',
      ],
      [
        'bridged session of others, expired',
        'test/api/mcp/legacy-to-modern.test.ts',
        'does not exist for another key or server, and after its time',
      ],
      [
        'state of another key, server, tool, arguments, altered, expired',
        'test/api/mcp/rounds.test.ts',
        'is refused with one error, and reaches no server',
      ],
      [
        'state of a bridged call of others',
        'test/api/mcp/bridge-input.test.ts',
        'refuses every state that is not its own with one error, and the server sees nothing',
      ],
      [
        'answer to a question of others',
        'test/api/mcp/legacy-to-modern.test.ts',
        'accepts no answer that is altered, expired, or of another session or key',
      ],
      [
        'cancellation of calls of others',
        'test/api/mcp/corpus/hostile-callers.test.ts',
        'ends no call of another caller, of the same id and without a session',
      ],
    ],
  ],
  [
    'browsers',
    [
      [
        'Origin, Host, content type and encoding',
        'test/api/mcp/rules.test.ts',
        'is refused with the id when it is sent with %s',
      ],
      [
        'doubled Origin or credential',
        'test/api/mcp/rules.test.ts',
        'is refused with a doubled Origin or credential',
      ],
      [
        'a call by GET',
        'test/api/mcp/corpus/hostile-callers.test.ts',
        'runs no tool, whatever the query says',
      ],
      ['other methods', 'test/api/mcp/rules.test.ts', 'is 405 when it is sent by %s'],
    ],
  ],
  [
    'requests to addresses of an attacker',
    [
      [
        'private, link-local and mapped addresses',
        'test/unit/model/outbound-url.test.ts',
        'is rejected: %s',
      ],
      [
        'metadata services of clouds',
        'test/unit/model/outbound-url.test.ts',
        'rejects a cloud metadata service, whatever network or suffix covers it',
      ],
      [
        'names that resolve to them',
        'test/unit/upstream/guarded-connect.test.ts',
        'rejects %s before a byte is sent',
      ],
      [
        'names that resolve to another address later',
        'test/unit/upstream/guarded-connect.test.ts',
        'checks the resolved addresses for each socket',
      ],
      [
        'redirects of servers',
        'test/api/mcp/corpus/hostile-messages.test.ts',
        'is followed by no request and shown to nobody with status %i',
      ],
      [
        'redirects of authorization servers',
        'test/api/mcp/oauth/user-oauth.test.ts',
        'follows no redirect of an authorization server',
      ],
      [
        'redirects while a server is queried',
        'test/api/resources/mcp-syncs.test.ts',
        'never goes to an untrusted address, and follows no redirect',
      ],
      [
        'token endpoints',
        'test/api/mcp/oauth/client-credentials.test.ts',
        'returns 400 at %s when it cannot work: %j',
      ],
      [
        'metadata of servers and authorization servers',
        'test/api/mcp/oauth/user-oauth.test.ts',
        'is refused for %s',
      ],
      [
        'references in schemas, icons, links',
        'test/api/mcp/corpus/other-servers.test.ts',
        'is never called: references, icons, identifiers of schemas, links and resources',
      ],
      [
        'connections after the address has changed',
        'test/api/mcp/oauth/user-oauth.test.ts',
        'does not follow the integration to another origin',
      ],
    ],
  ],
  [
    'mix-up of authorization servers',
    [
      [
        'another issuer in the response',
        'test/api/mcp/oauth/user-oauth.test.ts',
        'is refused before its code is sent when the response %s',
      ],
      [
        'metadata that change after the beginning',
        'test/api/mcp/oauth/user-oauth.test.ts',
        'sends its code where it began, even if the metadata has changed',
      ],
      [
        'another authorization server after the registration',
        'test/api/mcp/oauth/oauth-clients.test.ts',
        'sends a configured secret to the first authorization server only',
      ],
    ],
  ],
  [
    'confused deputy',
    [
      [
        'state bound to the browser, once',
        'test/api/mcp/oauth/user-oauth.test.ts',
        'is finished by the browser that began it only, and once',
      ],
      [
        'consent before the browser leaves',
        'test/api/mcp/oauth/user-oauth.test.ts',
        'shows what is authorized before the browser leaves',
      ],
      [
        'beginning from a foreign page',
        'test/api/mcp/oauth/user-oauth.test.ts',
        'begins on a page of the gateway only',
      ],
    ],
  ],
  [
    'bombs',
    [
      [
        'depth beyond what can be written, bridged',
        'test/api/mcp/corpus/both-eras.test.ts',
        'ends with one error when the result is nested without end',
      ],
      [
        'endless responses and events',
        'test/api/mcp/hostile-servers.test.ts',
        'is cut off when its response or an event exceeds what is read',
      ],
      ['depth', 'test/api/mcp/hostile-servers.test.ts', 'does not stop the gateway by depth'],
      [
        'floods of progress',
        'test/api/mcp/hostile-servers.test.ts',
        'floods only its own caller, who receives what fits and can leave',
      ],
      [
        'endless rounds of questions, relayed',
        'test/api/mcp/rounds.test.ts',
        'is not asked more often than 16 times',
      ],
      [
        'endless rounds of questions, bridged',
        'test/api/mcp/bridged-rules.test.ts',
        'is stopped when it requires input again and again',
      ],
      [
        'endless pages of lists',
        'test/api/mcp/corpus/hostile-messages.test.ts',
        'is given up when the gateway looks a name up',
      ],
      [
        'endless pages while a server is queried',
        'test/api/resources/mcp-syncs.test.ts',
        'is stopped, however many pages and capabilities it invents',
      ],
    ],
  ],
  [
    'messages that belong to nobody',
    [
      [
        '__proto__, escapes and exact numbers in arguments, in both eras and bridged',
        'test/api/mcp/corpus/both-eras.test.ts',
        'is denied with a denied text in %s',
      ],
      [
        'texts where no rule of content looks, bridged, __proto__ included',
        'test/api/mcp/corpus/both-eras.test.ts',
        'returns no denied text in %s',
      ],
      [
        'forms of a number that hide its digits',
        'test/api/mcp/numbers.test.ts',
        'judges the digits and the value of a number in a call %s',
      ],
      [
        'events in texts',
        'test/api/mcp/corpus/both-eras.test.ts',
        'receives one message from a result with events in its texts',
      ],
      [
        'ids of questions in every form, bridged',
        'test/api/mcp/corpus/both-eras.test.ts',
        'receives the answer under the id of its own question, in every form of the id',
      ],
      [
        'progress tokens of others, bridged',
        'test/api/mcp/corpus/both-eras.test.ts',
        'passes progress under the token of the call only, in every form of a number',
      ],
      [
        'another id, second result, after the result',
        'test/api/mcp/hostile-servers.test.ts',
        'is dropped and counted in a stream: another id, a second result, and all after the result',
      ],
      [
        'the only response',
        'test/api/mcp/hostile-servers.test.ts',
        'is an error where it is the only response',
      ],
      [
        'messages that a subscription has not asked for',
        'test/api/mcp/hostile-servers.test.ts',
        'is dropped and counted in a subscription that has not asked for it',
      ],
      [
        'bridged',
        'test/api/mcp/bridged-rules.test.ts',
        'cannot answer for another request, nor twice, nor ask by requests of its own',
      ],
      [
        'marks and line ends in streams',
        'test/api/mcp/corpus/hostile-messages.test.ts',
        'carries no foreign message with %s',
      ],
      [
        'texts where no rule of content looks',
        'test/api/mcp/corpus/hostile-messages.test.ts',
        'does not leave the gateway in %s, streamed: %s',
      ],
      [
        'numbers that parsing rounds, from servers',
        'test/api/mcp/corpus/hostile-messages.test.ts',
        'does not leave in digits that parsing rounds, streamed: %s',
      ],
      [
        'numbers that parsing rounds, from callers',
        'test/api/mcp/corpus/hostile-callers.test.ts',
        'is judged by the digits that are sent: %s',
      ],
      [
        'members beside the arguments, _meta',
        'test/api/mcp/corpus/hostile-callers.test.ts',
        'is judged: %s',
      ],
    ],
  ],
  [
    'questions that a client has not declared or a server may not ask',
    [
      [
        'capabilities that a call claims for its session, bridged',
        'test/api/mcp/corpus/both-eras.test.ts',
        'receives the capabilities of the session, whatever a call claims, and no sealed id',
      ],
      [
        'relayed',
        'test/api/mcp/corpus/hostile-messages.test.ts',
        'cannot ask a client for %s that has not declared it',
      ],
      [
        'relayed, in a session of the legacy era',
        'test/api/mcp/corpus/hostile-messages.test.ts',
        'cannot ask a client of a session for %s without its declaration',
      ],
      [
        'disabled for the server, legacy',
        'test/api/mcp/client-capabilities.test.ts',
        'is asked for nothing that the server disables, which does not learn of it',
      ],
      [
        'disabled for the server, modern',
        'test/api/mcp/client-capabilities.test.ts',
        'is asked for nothing that integration or server disable, which do not learn of it',
      ],
      [
        'disabled for the server while a session is open',
        'test/api/mcp/client-capabilities.test.ts',
        'is asked no more in an open session once its server disables it',
      ],
      ['bridged', 'test/api/mcp/bridged-rules.test.ts', 'cannot ask an %s question'],
      [
        'bridged, without capabilities',
        'test/api/mcp/legacy-to-modern.test.ts',
        'is an error where the client has not declared that it can be asked',
      ],
    ],
  ],
  [
    'one error and one cost',
    [
      [
        'servers',
        'test/api/mcp/corpus/equal-work.test.ts',
        'costs the same statements, each time, whether it is unknown, foreign, archived or not granted',
      ],
      [
        'tools and prompts',
        'test/api/mcp/corpus/equal-work.test.ts',
        'costs one list and no call, each time, by %s',
      ],
      [
        'while the server lists nothing',
        'test/api/mcp/corpus/equal-work.test.ts',
        'fails alike while the server lists nothing',
      ],
      [
        'limits',
        'test/api/mcp/corpus/equal-work.test.ts',
        'does not count under limits, whatever the reason',
      ],
      [
        'unapproved definitions',
        'test/api/mcp/definitions.test.ts',
        'answers an unapproved, a disabled and an unknown name alike',
      ],
    ],
  ],
];

export const corpusGroupNames: readonly string[] = groups.map(([name]) => name);

export const corpusCases: readonly CorpusCase[] = groups.flatMap(([, cases], at) =>
  cases.map(([attack, file, title]) => ({ group: at + 1, attack, file, title })),
);
