//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-BnJbQqiP.js";function t(t){return e(t,`base-ui`)}export{t};