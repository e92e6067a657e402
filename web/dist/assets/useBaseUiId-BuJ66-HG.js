//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-IU1voz6E.js";function t(t){return e(t,`base-ui`)}export{t};