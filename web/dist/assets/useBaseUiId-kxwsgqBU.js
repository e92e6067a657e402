//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-DMzb8-Wm.js";function t(t){return e(t,`base-ui`)}export{t};