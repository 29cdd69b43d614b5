// The page of package inspect: the live picture, and nothing else.

import { Live } from "./live.js";

new Live({ pictures: "events" }).start();
