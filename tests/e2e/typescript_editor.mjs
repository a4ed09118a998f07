// An editor by the protocol's TypeScript library. Standard input brings what to do, as JSON:
// {"command": [...], "cwd": "...", "buffers": {path: text}, "steps": [{...}]}; standard output gets what came of it.

import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const wanted = JSON.parse(readFileSync(0, "utf8"));
const buffers = wanted.buffers;
const child = spawn(wanted.command[0], wanted.command.slice(1), { cwd: wanted.cwd, stdio: ["pipe", "pipe", "inherit"] });
const exited = new Promise((resolve) => child.on("exit", resolve));

/** What the agent tells and asks while a step is carried out, and the answers that are still to be given. */
let updates = [];
let questions = [];
let answers = [];
let onUpdate = () => {};

const editor = acp
  .client({ name: "tests" })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    updates.push(params.update);
    onUpdate(params.update);
  })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    questions.push(params);
    const answer = answers.shift();
    if (answer === undefined) return new Promise(() => {}); // nobody looks: it is never answered
    if (!params.options.some((option) => option.optionId === answer)) throw new Error(`${answer} is not offered`);
    return { outcome: { outcome: "selected", optionId: answer } };
  })
  .onRequest(acp.methods.client.fs.readTextFile, ({ params }) => ({
    content: buffers[params.path] ?? readFileSync(params.path, "utf8"),
  }))
  .onRequest(acp.methods.client.fs.writeTextFile, ({ params }) => {
    delete buffers[params.path];
    writeFileSync(params.path, params.content);
    return {};
  });

const steps = {
  initialize: (ctx) =>
    ctx.request(acp.methods.agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
    }),
  open: async (ctx, step, state) => {
    const opened = await ctx.request(acp.methods.agent.session.new, { cwd: wanted.cwd, mcpServers: [] });
    state.session = opened.sessionId;
    await until(() => updates.some((update) => update.sessionUpdate === "available_commands_update"));
    return opened;
  },
  load: (ctx, step, state) =>
    ctx.request(acp.methods.agent.session.load, { cwd: wanted.cwd, sessionId: state.session, mcpServers: [] }),
  close: (ctx, step, state) => ctx.request(acp.methods.agent.session.close, { sessionId: state.session }),
  set: (ctx, step, state) =>
    ctx.request(acp.methods.agent.session.setConfigOption, {
      sessionId: state.session,
      configId: step.option,
      value: step.value,
    }),
  prompt: async (ctx, step, state) => {
    const sent = ctx.request(acp.methods.agent.session.prompt, {
      sessionId: state.session,
      prompt: [{ type: "text", text: step.text }],
    });
    if (step.cancelAt !== undefined) {
      await until(() => questions.length + updates.length >= step.cancelAt);
      await ctx.notify(acp.methods.agent.session.cancel, { sessionId: state.session });
    }
    return sent;
  },
};

/** Resolves once the condition holds; it is looked at after every update and every few milliseconds. */
function until(condition) {
  return new Promise((resolve) => {
    const look = () => condition() && (clearInterval(timer), resolve());
    const timer = setInterval(look, 5);
    onUpdate = look;
    look();
  });
}

const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const state = {};
const results = await editor.connectWith(stream, async (ctx) => {
  const done = [];
  for (const step of wanted.steps) {
    [updates, questions, answers] = [[], [], step.answers ?? []];
    let result, error;
    try {
      result = await steps[step.do](ctx, step, state);
    } catch (problem) {
      error = problem.message;
    }
    await new Promise((resolve) => setTimeout(resolve, 50)); // what was sent before the answer is read before the next step
    done.push({ result, error, updates, questions });
  }
  return done;
});
child.stdin.end();
const code = await exited;
console.log(JSON.stringify({ results, code, buffers }));
process.exit(0);
