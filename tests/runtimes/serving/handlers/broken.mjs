throw new Error("it is broken");
