import { shapeOf } from './src/sync/spec-shape.ts';
const s = shapeOf('Config');
const c = s.child('config');
console.log(c.opaque, c.child('input_guardrails').child('0').references.length, c.child('targets').child('1').child('output_guardrails').child('2').references.length, c.child('a').references.length, c.child('a')===c.child('b'), c.child('a').child('b')===c.child('a'), c.child('a').child('b').child('q').child('input_guardrails').child('0').references.length);
const u=shapeOf('UsageLimitPolicy').child('conditions').child('0'); console.log([...u.referenceKeys.keys()], shapeOf('McpIntegration').child('configurations').child('custom_headers').child('X').secret)
console.log([...shapeOf('ApiKey').child('defaults').referenceKeys.keys()],[...shapeOf('GuardrailMcpBinding').referenceKeys.keys()])
