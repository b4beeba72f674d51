// The page of `vertigrad serve`: shows the images of the WebSocket, and sends mouse, keys and size. The protocol is
// described in docs/remote.md.
"use strict";

const KEY = 1, DELTA = 2, HEADER = 12; // kinds of images, and the bytes before the data
const KEPT_BY_BROWSER = new Set(["F5", "F11", "F12"]);
const KEPT_WITH_CONTROL = new Set(["KeyR", "KeyT", "KeyW", "KeyN", "KeyV", "KeyL"]);
const canvas = document.getElementById("image");
const context = canvas.getContext("2d", { alpha: false });
const bar = document.getElementById("bar"), message = document.getElementById("message");
const take = document.getElementById("take");
const mac = navigator.platform.startsWith("Mac");

let socket = null, retry = 500;
let inControl = false;
let decoder = null, codec = "", broken = false; // of H.264; broken: it failed once, so JPEG is used
let order = Promise.resolve(); // JPEG and PNG images are decoded one after the other
let exact = 0; // the number of the last image that was drawn without loss
const statistics = (window.vertigrad = { images: 0, exact: 0, bytes: 0, kinds: {}, control: false, number: 0 });

function send(method, params = {}) {
  if (socket && socket.readyState === WebSocket.OPEN) {
    socket.send(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }
}

function say(text, button = false) {
  message.textContent = text;
  take.hidden = !button;
  bar.hidden = !text;
}

// connection ---------------------------------------------------------------------------------------------------------

function connect() {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  const token = new URLSearchParams(location.search).get("token") || "";
  socket = new WebSocket(`${scheme}//${location.host}/socket?token=${encodeURIComponent(token)}`);
  socket.binaryType = "arraybuffer";
  socket.onopen = opened;
  socket.onclose = lost;
  socket.onmessage = (event) => (typeof event.data === "string" ? note(JSON.parse(event.data)) : show(event.data));
}

async function opened() {
  retry = 500;
  say("");
  sendSize();
  exact = 0;
  send("watch", { codec: (await decodesH264()) ? "h264" : "jpeg" });
}

async function lost() {
  inControl = statistics.control = false;
  closeDecoder();
  say("The connection was lost; trying again…");
  try {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (!answer.ok) say(await answer.text());
  } catch {
    // the server is away
  }
  setTimeout(connect, retry);
  retry = Math.min(retry * 2, 5000);
}

function note({ method, params, error }) {
  if (method === "control") {
    inControl = statistics.control = params.yours;
    say(inControl ? "" : "Another viewer is in control.", !inControl);
    if (inControl) sendSize();
    fit();
  } else if (method === "video") {
    openDecoder(params.codec);
  } else if (method === "cursor") {
    canvas.style.cursor = params.css;
  } else if (method === "title") {
    document.title = params.text;
  } else if (method === "clipboard" && navigator.clipboard) {
    navigator.clipboard.writeText(params.text).catch(() => {});
  } else if (method === "failed") {
    if (!broken) fallBack();
    else say(params.message);
  } else if (error) {
    console.warn(error.message);
  }
}

take.onclick = () => send("take_control");

// images -------------------------------------------------------------------------------------------------------------

async function decodesH264() {
  if (broken || !("VideoDecoder" in window)) return false; // without https only localhost has it
  try {
    return (await VideoDecoder.isConfigSupported({ codec: "avc1.42c028" })).supported;
  } catch {
    return false;
  }
}

function openDecoder(name) {
  closeDecoder();
  codec = name;
  decoder = new VideoDecoder({ output: drawVideo, error: fallBack });
  decoder.configure({ codec, optimizeForLatency: true });
}

function closeDecoder() {
  if (decoder && decoder.state !== "closed") decoder.close();
  decoder = null;
}

function fallBack() {
  broken = true;
  closeDecoder();
  send("watch", { codec: "jpeg" });
}

function show(data) {
  const header = new DataView(data, 0, HEADER);
  const kind = header.getUint8(0), number = header.getUint32(4, true);
  const bytes = new Uint8Array(data, HEADER);
  statistics.bytes += data.byteLength;
  statistics.kinds[kind] = (statistics.kinds[kind] || 0) + 1;
  if (kind === KEY || kind === DELTA) {
    if (decoder && decoder.state === "configured") {
      const type = kind === KEY ? "key" : "delta";
      try {
        decoder.decode(new EncodedVideoChunk({ type, timestamp: number, data: bytes }));
      } catch (error) {
        console.warn(error);
        fallBack();
      }
    } else {
      send("shown", { number });
    }
  } else {
    order = order.then(() => drawFile(bytes, number, kind === 4)).catch(() => send("shown", { number }));
  }
}

function drawVideo(frame) {
  const number = frame.timestamp;
  if (number > exact) draw(frame, frame.displayWidth, frame.displayHeight);
  frame.close();
  done(number);
}

async function drawFile(bytes, number, withoutLoss) {
  const bitmap = await createImageBitmap(new Blob([bytes]));
  draw(bitmap, bitmap.width, bitmap.height);
  bitmap.close();
  if (withoutLoss) {
    exact = number;
    statistics.exact = number;
  }
  done(number);
}

function draw(image, width, height) {
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
    fit();
  }
  context.drawImage(image, 0, 0);
}

function done(number) {
  statistics.images += 1;
  statistics.number = number;
  send("shown", { number });
}

// size ---------------------------------------------------------------------------------------------------------------

function fit() {
  const ratio = window.devicePixelRatio || 1;
  const fitting = Math.min(innerWidth / canvas.width, innerHeight / canvas.height);
  const scale = inControl ? Math.min(1 / ratio, fitting) : fitting; // an image of a window has the window's size
  canvas.style.width = `${canvas.width * scale}px`;
  canvas.style.height = `${canvas.height * scale}px`;
}

function sendSize() {
  const scale = Math.min(Math.max(window.devicePixelRatio || 1, 0.25), 8);
  const [width, height] = [innerWidth, innerHeight].map((side) => Math.max(1, Math.round(side * scale)));
  send("resize", { width, height, scale });
}

let sizing = 0;
addEventListener("resize", () => {
  fit();
  clearTimeout(sizing);
  sizing = setTimeout(sendSize, 100);
});

// input --------------------------------------------------------------------------------------------------------------

function modifiers(event) {
  const control = event.ctrlKey || (mac && event.metaKey);
  const held = { shift: event.shiftKey, control, alt: event.altKey, meta: event.metaKey && !mac };
  return Object.keys(held).filter((name) => held[name]);
}

function place(event) {
  const box = canvas.getBoundingClientRect();
  return {
    x: ((event.clientX - box.left) * canvas.width) / box.width,
    y: ((event.clientY - box.top) * canvas.height) / box.height,
    modifiers: modifiers(event),
  };
}

function input(method, params) {
  if (inControl) send(method, params);
}

canvas.addEventListener("pointermove", (event) => input("pointer", place(event)));
canvas.addEventListener("pointerleave", () => input("leave", {}));
canvas.addEventListener("contextmenu", (event) => event.preventDefault());
for (const [name, pressed] of [["mousedown", true], ["mouseup", false]]) {
  (pressed ? canvas : window).addEventListener(name, (event) => {
    if (event.button > 2) return;
    if (pressed) canvas.focus();
    event.preventDefault();
    input("button", { ...place(event), button: event.button, pressed });
  });
}
canvas.addEventListener("pointerdown", (event) => canvas.setPointerCapture(event.pointerId));
canvas.addEventListener(
  "wheel",
  (event) => {
    event.preventDefault();
    const notch = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 100 : 3;
    input("wheel", { ...place(event), dx: -event.deltaX / notch, dy: -event.deltaY / notch });
  },
  { passive: false },
);

for (const name of ["keydown", "keyup"]) {
  addEventListener(name, (event) => {
    const held = modifiers(event);
    if (KEPT_BY_BROWSER.has(event.code) || (held.includes("control") && KEPT_WITH_CONTROL.has(event.code))) return;
    event.preventDefault();
    const action = name === "keyup" ? "release" : event.repeat ? "repeat" : "press";
    input("key", { code: event.code.slice(0, 32), key: event.key.slice(0, 32), action, modifiers: held });
  });
}
addEventListener("paste", (event) => {
  const text = (event.clipboardData.getData("text") || "").slice(0, 10000);
  if (text) input("paste", { text });
});
addEventListener("focus", () => input("focus", { focused: true }));
addEventListener("blur", () => input("focus", { focused: false }));

connect();
